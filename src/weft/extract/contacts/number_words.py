"""The words that stand before numbers: those of telephones, and those of all other numbers, in many languages.

They are parts of regular expressions.
"""

from __future__ import annotations

from typing import Final

_LABELS = r"""
    t p m f tel tél tf tfno tlf ph phones? mobile? mob cell gsm fax faks telefax telephone téléphone
    telefon[a-z]* teléfono handy portable hotline call office fon centrala telefoon puhelin puh sími móvil kom
    вн тел телефон[а-я]* факс моб т ф τηλ τηλέφωνο κιν κινητό φαξ телефакс ring ruf zentrale whatsapp viber sms
    contact kontakt kapcsolat mobil[a-z]* 電話 电话 전화
"""
_OTHERS = r"""
    isbn(?:-1[03])? issn iban doi orcid vat ddv tax tin ein abn acn siret siren rcs nip regon krs ičo? ico dič
    dic инн огрн кпп бик бин р/с к/с афм αφμ afm cif c\.i\.f nif n\.i\.f c\.f piva rea cuf trr račun hrb hra
    ust-?id(?:nr)? uid cvr kvk btw konto(?:nummer)? account acct blz bic postfach zip plz serial s/n order
    invoice ref reference case ticket id no nr № expediente délibération registration reg licen[cs]e lic patent
    pmid arxiv version build sku upc ean gtin part item product model catalog article emšo
"""

LABELS: Final = (*_LABELS.split(), "fax no", "phone number", "tel/fax")

OTHER_NUMBERS: Final = (
    *_OTHERS.split(),
    r"p\.? ?iva",
    "codice fiscale",
    "matična(?: številka)?",
    r"mat\. ?št",
    "davčna(?: številka)?",
    r"org(?:anisations)?\.? ?(?:nr|nummer)",
    r"p\.?o\.? ?box",
    "num[eé]ro d.ordre",
)
