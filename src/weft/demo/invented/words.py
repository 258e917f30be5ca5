"""The words of the invented pages, in seven languages."""
# ruff: noqa: RUF001 - words of many languages are meant

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote


class Language(NamedTuple):
    code: str
    legacy: str  # the charset of some of its pages
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    others: tuple[str, ...]
    related: str  # a heading
    slugs: tuple[str, ...]  # the nouns as they stand in paths


def _language(code: str, legacy: str, related: str, adjectives: str, nouns: str, others: str) -> Language:
    names = tuple(nouns.split())
    return Language(
        code, legacy, tuple(adjectives.split()), names, tuple(others.split()), related, tuple(map(quote, names))
    )


LANGUAGES: tuple[Language, ...] = (
    _language(
        "en", "windows-1252", "Related pages",
        "Old Quiet Green Northern Open Small Bright Early Common Wide Silver Hidden Long Early Plain Warm",
        "river garden letter market bridge winter harbour story mountain window kitchen teacher "
        "forest museum morning valley",
        "the of and a in that is was for on with as by from at which this many where when they have "
        "people found between "
        "year often made new first town every built little water road known under since house light "
        "after before most",
    ),
    _language(
        "de", "windows-1252", "Verwandte Seiten",
        "Alte Stille Grüne Große Offene Kleine Helle Frühe Schöne Weite Silberne Lange Warme Neue Rote Ferne",
        "brücke straße küche stadt blume geschichte schule wiese mühle quelle burg kirche insel "
        "höhle werkstatt ernte",
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es "
        "an werden aus er hat "
        "daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder "
        "aber vor zur bis mehr",
    ),
    _language(
        "sl", "windows-1250", "Sorodne strani",
        "Stara Tiha Zelena Velika Odprta Majhna Svetla Zgodnja Lepa Široka Srebrna Dolga Topla Nova Rdeča Daljna",
        "reka hiša šola cesta knjiga zgodba gora voda trgovina delavnica pokrajina jesen ladja sveča češnja žetev",
        "je in na se v za da so ki ne pa bi z kot po tudi od ali še že le kako zelo vse tako kjer "
        "med pri pod nad človek "
        "leto mesto delo dan svet država čas življenje otrok vprašanje pot stran beseda",
    ),
    _language(
        "fr", "windows-1252", "Pages voisines",
        "Vieille Calme Verte Grande Ouverte Petite Claire Belle Large Longue Chaude Nouvelle Rouge "
        "Lointaine Simple Rare",
        "rivière maison école lettre forêt fenêtre cuisine montagne île église histoire moisson "
        "lumière côte fête vallée",
        "le la les de des et en un une du que qui dans pour pas au sur ce par avec plus est sont "
        "mais comme ou où leur "
        "bien sans peut tout aussi après depuis année été même très encore toujours pays ville",
    ),
    _language(
        "ru", "windows-1251", "Похожие страницы",
        "Старая Тихая Зелёная Большая Открытая Малая Светлая Ранняя Красивая Широкая Долгая Тёплая "
        "Новая Красная Дальняя Редкая",
        "река книга школа дорога вода гора зима осень улица мельница площадь картина деревня песня станция лодка",
        "и в не на что он с как это по но они мы она так его за от меня бы только о из когда уже "
        "для вот кто да год был "
        "человек время дело жизнь день рука работа слово место друг дом город вопрос земля",
    ),
    _language(
        "el", "iso-8859-7", "Σχετικές σελίδες",
        "Παλιά Ήσυχη Πράσινη Μεγάλη Ανοιχτή Μικρή Φωτεινή Όμορφη Πλατιά Μακριά Ζεστή Νέα Κόκκινη Μακρινή Απλή Σπάνια",
        "θάλασσα πόλη σχολή βιβλιοθήκη γέφυρα ιστορία ελιά αγορά εκκλησία πλατεία νύχτα άνοιξη "
        "λίμνη κουζίνα εικόνα βάρκα",
        "και το να του η της με που την από για τα είναι των σε ο οι στο θα τη στην τον δεν τους "
        "ένα μια ότι αυτό όπως "
        "πολύ κάθε χρόνο άνθρωπος ημέρα ζωή κόσμος σπίτι δρόμος νερό λόγος",
    ),
    _language(
        "fa", "utf-8", "صفحه‌های مرتبط",
        "قدیمی آرام سبز بزرگ باز کوچک روشن زیبا پهن بلند گرم تازه سرخ دور ساده کمیاب",
        "رودخانه کتاب مدرسه خیابان باغ کوه زمستان پاییز بازار پل داستان دریا روستا پنجره چراغ نامه",
        "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز گفت می شد او ما اما یا شده باید هر مردم سال روز "
        "کار زندگی شهر خانه آب راه زمان دست جهان",
    ),
)  # fmt: skip  # fmt: skip

SECTIONS = ("news", "guide", "shop", "people", "archive", "research", "events", "help")
