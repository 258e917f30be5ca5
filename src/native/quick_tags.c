#define PY_SSIZE_T_CLEAN
#include "quick_tags.h"

enum { TABLE_BITS = 9 };

/* the name is filled in by make_tables */
#define TAG(text, kind, flags) {text, kind, flags, {0, 0, {NULL, NULL}}}
#define FORMATS(text) TAG(text, FORMAT, FORMATTING | LOOSE)
#define BLOCKS(text) TAG(text, BLOCK_OF, SPECIAL | CLOSES_P | BLOCK)
static Tag tags[] = {
    TAG("a", A, FORMATTING | WANTED),
    TAG("area", AREA, VOID | TOLD),
    TAG("audio", AUDIO, TOLD),
    TAG("base", BASE, VOID | TOLD | IN_HEAD),
    TAG("body", BODY, OUTER),
    TAG("button", BUTTON, SPECIAL | BLOCK),
    TAG("caption", CAPTION, SPECIAL | SCOPE | STRUCTURE),
    TAG("td", CELL_D, SPECIAL | SCOPE | STRUCTURE),
    TAG("th", CELL_H, SPECIAL | SCOPE | STRUCTURE),
    TAG("col", COL, VOID | STRUCTURE),
    TAG("colgroup", COLGROUP, SPECIAL | STRUCTURE | IN_TABLE),
    TAG("dd", DD, SPECIAL | CLOSES_P),
    TAG("dt", DT, SPECIAL | CLOSES_P),
    TAG("embed", EMBED, VOID | TOLD),
    TAG("form", FORM, SPECIAL | CLOSES_P | TOLD),
    FORMATS("b"), FORMATS("big"), FORMATS("code"), FORMATS("em"), FORMATS("font"), FORMATS("i"), FORMATS("s"),
    FORMATS("small"), FORMATS("strike"), FORMATS("strong"), FORMATS("tt"), FORMATS("u"),
    TAG("h1", H, SPECIAL | CLOSES_P), TAG("h2", H, SPECIAL | CLOSES_P), TAG("h3", H, SPECIAL | CLOSES_P),
    TAG("h4", H, SPECIAL | CLOSES_P), TAG("h5", H, SPECIAL | CLOSES_P), TAG("h6", H, SPECIAL | CLOSES_P),
    TAG("head", HEAD, IN_HEAD | OUTER),
    TAG("html", HTML, IN_HEAD | WANTED | OUTER),
    TAG("iframe", IFRAME, RAW | TOLD | NOT_IN_LINK),
    TAG("img", IMG, VOID | WANTED),
    TAG("input", INPUT, VOID | WANTED),
    TAG("li", LI, SPECIAL | CLOSES_P),
    TAG("link", LINK, VOID | IN_HEAD | WANTED),
    TAG("meta", META, VOID | IN_HEAD | WANTED),
    TAG("noscript", NOSCRIPT, SPECIAL | IN_HEAD),
    TAG("object", OBJECT, SPECIAL | SCOPE | TOLD),
    TAG("option", OPTION, NOT_IN_LINK), TAG("optgroup", OPTION, NOT_IN_LINK),
    TAG("p", P, SPECIAL | CLOSES_P),
    TAG("br", PLAIN_VOID, VOID), TAG("keygen", PLAIN_VOID, VOID), TAG("param", PLAIN_VOID, VOID),
    TAG("wbr", PLAIN_VOID, VOID),
    TAG("basefont", PLAIN_VOID, VOID | IN_HEAD), TAG("bgsound", PLAIN_VOID, VOID | IN_HEAD),
    TAG("hr", PLAIN_VOID, VOID | CLOSES_P),
    TAG("noembed", RAW_TEXT, RAW | NOT_IN_LINK),
    TAG("noframes", RAW_TEXT, RAW | NOT_IN_LINK | IN_HEAD),
    TAG("xmp", RAW_TEXT, RAW | CLOSES_P | NOT_IN_LINK),
    TAG("script", SCRIPT, RAW | NOT_IN_LINK | IN_HEAD | WANTED),
    TAG("select", SELECT, SPECIAL | SCOPE | NOT_IN_LINK),
    TAG("source", SOURCE, VOID | TOLD),
    TAG("style", STYLE, RAW | NOT_IN_LINK | IN_HEAD),
    TAG("table", TABLE, SPECIAL | SCOPE | CLOSES_P | IN_TABLE),
    TAG("tbody", TBODY, SPECIAL | STRUCTURE | IN_TABLE), TAG("tfoot", TBODY, SPECIAL | STRUCTURE | IN_TABLE),
    TAG("thead", TBODY, SPECIAL | STRUCTURE | IN_TABLE),
    TAG("textarea", TEXTAREA, RAW | NOT_IN_LINK),
    TAG("title", TITLE, RAW | IN_HEAD | NOT_IN_LINK),
    TAG("tr", TR, SPECIAL | STRUCTURE | IN_TABLE),
    TAG("track", TRACK, VOID | TOLD),
    TAG("video", VIDEO, TOLD),
    TAG("applet", STRANGER, STRANGE), TAG("dialog", STRANGER, STRANGE), TAG("frame", STRANGER, STRANGE),
    TAG("frameset", STRANGER, STRANGE), TAG("image", STRANGER, STRANGE), TAG("marquee", STRANGER, STRANGE),
    TAG("math", STRANGER, STRANGE), TAG("nobr", STRANGER, STRANGE), TAG("plaintext", STRANGER, STRANGE),
    TAG("rb", STRANGER, STRANGE), TAG("rp", STRANGER, STRANGE), TAG("rt", STRANGER, STRANGE),
    TAG("rtc", STRANGER, STRANGE),
    TAG("svg", SVG, 0),
    TAG("template", STRANGER, STRANGE),
    /* the most common of those that are not known otherwise, so that they are found at once */
    TAG("abbr", OTHER, LOOSE), TAG("cite", OTHER, LOOSE), TAG("label", OTHER, LOOSE), TAG("span", OTHER, LOOSE),
    TAG("sub", OTHER, LOOSE), TAG("sup", OTHER, LOOSE), TAG("time", OTHER, LOOSE), TAG("var", OTHER, LOOSE),
    BLOCKS("address"), BLOCKS("article"), BLOCKS("aside"), BLOCKS("blockquote"), BLOCKS("center"), BLOCKS("details"),
    BLOCKS("dir"), BLOCKS("div"), BLOCKS("dl"), BLOCKS("fieldset"), BLOCKS("figcaption"), BLOCKS("figure"),
    BLOCKS("footer"), BLOCKS("header"), BLOCKS("hgroup"), BLOCKS("listing"), BLOCKS("main"), BLOCKS("menu"),
    BLOCKS("nav"), BLOCKS("ol"), BLOCKS("pre"), BLOCKS("search"), BLOCKS("section"), BLOCKS("summary"), BLOCKS("ul"),
};
enum { TAGS = sizeof tags / sizeof tags[0] };

const Tag unknown_tag = TAG("", OTHER, LOOSE);
const Tag *tag_address, *tag_div, *tag_ol, *tag_ul, *tag_meta, *tag_colgroup, *tag_tbody, *tag_tr, *tag_listing,
    *tag_pre, *tag_svg;
static const Tag *tag_table[1 << TABLE_BITS];

unsigned char classes[256], lowered[256];

const unsigned char *read_name(const unsigned char *p, Name *name) {
    uint64_t first = 0, second = 0;
    const unsigned char *start = p;
    for (; !(classes[*p] & NAME_END) && p - start < 8; p++) first |= (uint64_t)lowered[*p] << 8 * (p - start);
    for (; !(classes[*p] & NAME_END) && p - start < 16; p++) second |= (uint64_t)lowered[*p] << 8 * (p - start - 8);
    name->first = first, name->second = second;
    name->rest.start = p;
    while (!(classes[*p] & NAME_END)) p++;
    name->rest.end = p;
    return p;
}

static inline size_t place_of(const Name *name) { return (name->first * 0x9e3779b97f4a7c15ULL) >> (64 - TABLE_BITS); }

const Tag *find_tag(const Name *name) {
    if (!size_of(name->rest))
        for (size_t at = place_of(name); tag_table[at]; at = (at + 1) % (1 << TABLE_BITS))
            if (is_same(&tag_table[at]->name, name)) return tag_table[at];
    return &unknown_tag;
}

/* Apart, so that those that are read at once do not pay for it. */
static __attribute__((noinline)) const Tag *read_any_tag(const unsigned char **at, Name *name) {
    *at = read_name(*at, name);
    return find_tag(name);
}

const Tag *read_tag(const unsigned char **at, const unsigned char *end, Name *name) {
    const unsigned char *p = *at;
    if (end - p >= 8) { /* a short name of letters, as most are: all at once */
        uint64_t bytes = eight_at(p);
        int size = count_letters(bytes);
        if (size < 8 && classes[p[size]] & NAME_END) {
            *name = (Name){(bytes | 0x2020202020202020) & ((1ULL << 8 * size) - 1), 0, {p + size, p + size}};
            const Tag *tag = tag_table[place_of(name)];
            if (tag && tag->name.first == name->first && !tag->name.second) {
                *at = p + size;
                return tag;
            }
        }
    }
    return read_any_tag(at, name);
}

static const Tag *tag_named(const char *text) {
    Name name;
    read_name((const unsigned char *)text, &name);
    return find_tag(&name);
}

void make_tables(void) {
    if (tag_meta) return;
    for (int c = 0; c < 256; c++) lowered[c] = (unsigned char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
    for (const char *c = "\t\n\f\r "; *c; c++) classes[(int)*c] = SPACE | NAME_END | ATTRIBUTE_END | VALUE_END | BETWEEN;
    classes[0] = classes['>'] = NAME_END | ATTRIBUTE_END | VALUE_END;
    classes['/'] = NAME_END | ATTRIBUTE_END | BETWEEN;
    classes['='] = ATTRIBUTE_END;
    for (const char *c = "\t\n\v\f\r\x1c\x1d\x1e\x1f "; *c; c++) classes[(int)*c] |= PYTHON_SPACE;
    for (int c = '!'; c <= '~'; c++)
        if (!strchr("\"<>`", c)) classes[c] |= IN_FRAGMENT;
    for (int i = 0, blocks = 0; i < TAGS; i++) {
        read_name((const unsigned char *)tags[i].text, &tags[i].name);
        if (tags[i].kind == BLOCK_OF) tags[i].kind += blocks++;
        size_t at = place_of(&tags[i].name);
        while (tag_table[at]) at = (at + 1) % (1 << TABLE_BITS);
        tag_table[at] = &tags[i];
    }
    tag_address = tag_named("address"), tag_div = tag_named("div"), tag_ol = tag_named("ol"), tag_ul = tag_named("ul");
    tag_colgroup = tag_named("colgroup"), tag_tbody = tag_named("tbody"), tag_tr = tag_named("tr");
    tag_listing = tag_named("listing"), tag_pre = tag_named("pre"), tag_svg = tag_named("svg");
    tag_meta = tag_named("meta");
}
