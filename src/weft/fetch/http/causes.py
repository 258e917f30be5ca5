"""libcurl's errors as causes: one table, and the words that tell apart what has one number."""

from __future__ import annotations

import errno

import msgspec
import pycurl

from weft.errors import Cause

CAUSES: dict[str, Cause] = {
    "E_UNSUPPORTED_PROTOCOL": Cause.BAD_ANSWER,  # HTTP/0.9 or no HTTP at all: other schemes never get here
    "E_URL_MALFORMAT": Cause.DNS_NOT_FOUND,  # a URL by the WHATWG rules whose host can be no name
    "E_COULDNT_RESOLVE_PROXY": Cause.PROXY_FAILED,
    "E_COULDNT_RESOLVE_HOST": Cause.DNS_FAILED,
    "E_COULDNT_CONNECT": Cause.CONNECT_FAILED,
    "E_FTP_WEIRD_SERVER_REPLY": Cause.BAD_ANSWER,  # number 8: any server's reply by now
    "E_REMOTE_ACCESS_DENIED": Cause.CONNECT_FAILED,
    "E_HTTP2": Cause.BAD_ANSWER,
    "E_PARTIAL_FILE": Cause.INCOMPLETE_BODY,
    "E_HTTP_RETURNED_ERROR": Cause.BAD_ANSWER,
    "E_OPERATION_TIMEDOUT": Cause.READ_TIMEOUT,
    "E_SSL_CONNECT_ERROR": Cause.TLS_FAILED,
    "E_INTERFACE_FAILED": Cause.CONNECT_FAILED,
    "E_TOO_MANY_REDIRECTS": Cause.TOO_MANY_REDIRECTS,
    "E_GOT_NOTHING": Cause.EMPTY_ANSWER,
    "E_SEND_ERROR": Cause.CONNECTION_LOST,
    "E_RECV_ERROR": Cause.CONNECTION_LOST,
    "E_SSL_CERTPROBLEM": Cause.TLS_CLIENT_CERTIFICATE,  # our own certificate
    "E_SSL_CIPHER": Cause.TLS_FAILED,
    "E_PEER_FAILED_VERIFICATION": Cause.TLS_CERTIFICATE,
    "E_BAD_CONTENT_ENCODING": Cause.BAD_ANSWER,
    "E_FILESIZE_EXCEEDED": Cause.BAD_ANSWER,
    "E_USE_SSL_FAILED": Cause.TLS_FAILED,
    "E_SSL_ENGINE_NOTFOUND": Cause.TLS_FAILED,
    "E_SSL_ENGINE_SETFAILED": Cause.TLS_FAILED,
    "E_SSL_ENGINE_INITFAILED": Cause.TLS_FAILED,
    "E_LOGIN_DENIED": Cause.PROXY_FAILED,
    "E_SSL_CACERT": Cause.TLS_CERTIFICATE,
    "E_SSL_CACERT_BADFILE": Cause.TLS_CERTIFICATE,
    "E_SSL_SHUTDOWN_FAILED": Cause.TLS_FAILED,
    "E_SSL_CRL_BADFILE": Cause.TLS_CERTIFICATE,
    "E_SSL_ISSUER_ERROR": Cause.TLS_CERTIFICATE,
    "E_SSL_PINNEDPUBKEYNOTMATCH": Cause.TLS_CERTIFICATE,
    "E_SSL_INVALIDCERTSTATUS": Cause.TLS_CERTIFICATE,
    "E_NO_CONNECTION_AVAILABLE": Cause.CONNECT_FAILED,
    "E_AGAIN": Cause.CONNECTION_LOST,
    "E_CHUNK_FAILED": Cause.BAD_ANSWER,
    # What only a bug of ours, or a machine without memory, can bring about.
    **dict.fromkeys(
        (
            "E_ABORTED_BY_CALLBACK", "E_ALREADY_COMPLETE", "E_BAD_CALLING_ORDER", "E_BAD_DOWNLOAD_RESUME",
            "E_BAD_FUNCTION_ARGUMENT", "E_BAD_PASSWORD_ENTERED", "E_CALL_MULTI_PERFORM", "E_CONV_FAILED", "E_CONV_REQD",
            "E_FAILED_INIT", "E_FILE_COULDNT_READ_FILE", "E_FUNCTION_NOT_FOUND", "E_HTTP_POST_ERROR",
            "E_HTTP_RANGE_ERROR", "E_LDAP_CANNOT_BIND", "E_LDAP_INVALID_URL", "E_LDAP_SEARCH_FAILED",
            "E_LIBRARY_NOT_FOUND", "E_MALFORMAT_USER", "E_NOT_BUILT_IN", "E_OUT_OF_MEMORY", "E_QUOTE_ERROR",
            "E_RANGE_ERROR", "E_READ_ERROR", "E_REMOTE_DISK_FULL", "E_REMOTE_FILE_EXISTS", "E_REMOTE_FILE_NOT_FOUND",
            "E_RTSP_CSEQ_ERROR", "E_RTSP_SESSION_ERROR", "E_SEND_FAIL_REWIND", "E_SHARE_IN_USE", "E_SSH",
            "E_TELNET_OPTION_SYNTAX", "E_TFTP_DISKFULL", "E_TFTP_EXISTS", "E_TFTP_ILLEGAL", "E_TFTP_NOSUCHUSER",
            "E_TFTP_NOTFOUND", "E_TFTP_PERM", "E_TFTP_UNKNOWNID", "E_UNKNOWN_OPTION", "E_UNKNOWN_TELNET_OPTION",
            "E_UPLOAD_FAILED", "E_WRITE_ERROR", "E_FTP_ACCEPT_FAILED", "E_FTP_ACCEPT_TIMEOUT", "E_FTP_BAD_FILE_LIST",
            "E_FTP_CANT_GET_HOST", "E_FTP_COULDNT_RETR_FILE", "E_FTP_COULDNT_SET_TYPE", "E_FTP_COULDNT_USE_REST",
            "E_FTP_PORT_FAILED", "E_FTP_PRET_FAILED", "E_FTP_WEIRD_227_FORMAT", "E_FTP_WEIRD_PASS_REPLY",
            "E_FTP_WEIRD_PASV_REPLY", "E_FTP_WEIRD_USER_REPLY", "E_FTP_COULDNT_GET_SIZE", "E_HTTP_PORT_FAILED",
            "E_FTP_COULDNT_SET_ASCII", "E_FTP_WRITE_ERROR",
        ),
        Cause.BUG,
    ),
}  # fmt: skip
"""Every error of a transfer by its name in pycurl; names of the same number are given once."""

_NEWER_CAUSES: dict[int, Cause] = {
    16: Cause.BAD_ANSWER,  # HTTP2
    92: Cause.CONNECTION_LOST,  # HTTP2_STREAM
    93: Cause.BUG,  # RECURSIVE_API_CALL
    94: Cause.PROXY_FAILED,  # AUTH_ERROR
    95: Cause.BAD_ANSWER,  # HTTP3
    96: Cause.CONNECT_FAILED,  # QUIC_CONNECT_ERROR
    97: Cause.PROXY_FAILED,  # PROXY
    98: Cause.TLS_CLIENT_CERTIFICATE,  # SSL_CLIENTCERT
    99: Cause.CONNECTION_LOST,  # UNRECOVERABLE_POLL
    100: Cause.HEADERS_TOO_LARGE,  # TOO_LARGE
    101: Cause.TLS_FAILED,  # ECH_REQUIRED
}
CAUSE_BY_NUMBER: dict[int, Cause] = _NEWER_CAUSES | {
    getattr(pycurl, name): cause for name, cause in CAUSES.items() if hasattr(pycurl, name)
}

# What libcurl says in words only. The first that is found decides.
_CERTIFICATE_ALERTS = (
    "alert certificate required", "alert bad certificate", "alert unsupported certificate", "alert certificate revoked",
    "alert certificate expired", "alert certificate unknown", "alert unknown ca", "alert access denied",
)  # fmt: skip
_WORDS: tuple[tuple[str, Cause], ...] = (
    *((words, Cause.TLS_CLIENT_CERTIFICATE) for words in _CERTIFICATE_ALERTS),
    ("response headers", Cause.HEADERS_TOO_LARGE),
    ("too many response headers", Cause.HEADERS_TOO_LARGE),
    ("header too long", Cause.HEADERS_TOO_LARGE),
    ("connect tunnel failed", Cause.PROXY_FAILED),
    ("proxy connect", Cause.PROXY_FAILED),
    ("hexadecimal", Cause.BAD_ANSWER),
    ("chunk", Cause.BAD_ANSWER),
    ("invalid content-length", Cause.BAD_ANSWER),
    ("invalid status", Cause.BAD_ANSWER),
)


_CONNECT_CAUSES = {errno.ECONNREFUSED: Cause.CONNECT_REFUSED, errno.ETIMEDOUT: Cause.CONNECT_TIMEOUT}


class Progress(msgspec.Struct, frozen=True):
    """How far a transfer came before it failed."""

    sent: bool = False  # the connection stood and the request was sent
    answered: bool = False  # some of an answer came
    head_complete: bool = False
    proxied: bool = False
    errno: int = 0  # of the operating system, where the connection failed


def cause_of(code: int, message: str, progress: Progress) -> Cause:
    """The one cause for an error of libcurl, by its number, its words and how far the transfer came."""
    words = message.lower()
    if code == pycurl.E_OPERATION_TIMEDOUT:
        if progress.answered:
            return Cause.READ_TIMEOUT
        return Cause.FIRST_BYTE_TIMEOUT if progress.sent else Cause.CONNECT_TIMEOUT
    if code in (pycurl.E_RECV_ERROR, pycurl.E_SSL_CONNECT_ERROR, pycurl.E_FTP_WEIRD_SERVER_REPLY, 92, 100):
        for phrase, cause in _WORDS:
            if phrase in words:
                return cause
    if code == pycurl.E_COULDNT_CONNECT:
        if progress.proxied:
            return Cause.PROXY_FAILED
        return _CONNECT_CAUSES.get(progress.errno, Cause.CONNECT_FAILED)
    cause = CAUSE_BY_NUMBER.get(code, Cause.BUG)
    if cause is Cause.CONNECTION_LOST and progress.head_complete:
        return Cause.INCOMPLETE_BODY
    return cause
