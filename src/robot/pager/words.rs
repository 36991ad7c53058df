//! The words that lead on and back, in the languages of the pages that were looked at.

use crate::page::{NodeId, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Next,
    /// Nothing but an arrow to the right.
    Arrow,
    Back,
    /// On to another article, photo or topic: not another page of this list.
    NextOther,
    /// To what was written before, or after: which of them is next depends on how one reads a blog.
    Older,
    Newer,
    /// “More events”: of this list only where the address counts pages.
    More,
    Nothing,
}

/// A pager's words are few; a longer text is a sentence.
const MAX_WORDS: usize = 5;
const MAX_CHARS: usize = 40;
/// What is around a link and nothing else has few nodes; a larger one is not read for every link in it.
const MAX_WRAPPER_NODES: u32 = 16;

const NEXT: &[&str] = &[
    "next",
    "next page",
    "go to next page",
    "more results",
    "next results",
    "forward",
    "weiter",
    "nächste",
    "nächste seite",
    "naechste",
    "vor",
    "vorwärts",
    "suivant",
    "suivante",
    "suivants",
    "page suivante",
    "siguiente",
    "página siguiente",
    "pagina siguiente",
    "siguientes",
    "próxima",
    "proxima",
    "próximo",
    "proximo",
    "próxima página",
    "seguinte",
    "seguint",
    "següent",
    "volgende",
    "volgende pagina",
    "successivo",
    "successiva",
    "pagina successiva",
    "avanti",
    "prossima",
    "далее",
    "дальше",
    "следующая",
    "следующая страница",
    "след",
    "вперед",
    "вперёд",
    "наступна",
    "následující",
    "další",
    "ďalšia",
    "następna",
    "następny",
    "dalej",
    "nästa",
    "neste",
    "næste",
    "seuraava",
    "urmatoarea",
];
const NEXT_EAST: &[&str] = &[
    "下一页",
    "下一頁",
    "下页",
    "下頁",
    "次へ",
    "次のページ",
    "次の",
    "次",
    "다음",
    "다음 페이지",
    "التالي",
    "הבא",
    "sonraki",
    "ileri",
    "επόμενη",
    "következő",
    "ถัดไป",
];
const NEXT_MORE: &[&str] = &[
    "nästa sida",
    "neste side",
    "næste side",
    "seuraava sivu",
    "następna strona",
    "następne",
    "další strana",
    "další stránka",
    "následujúca",
    "nasledujúca",
    "ďalej",
    "ďalšie",
    "weitere ergebnisse",
    "nächste ergebnisse",
    "nächste treffer",
    "page suivant",
    "suivant page",
    "résultats suivants",
    "página próxima",
    "próximos",
    "próximas",
    "siguiente página",
    "siguiente pagina",
    "seguinte página",
    "página seguinte",
    "seguente",
    "pagina seguente",
    "prossimo",
    "prossima pagina",
    "successive",
    "verder",
    "volgende resultaten",
    "следующие",
    "следующий",
    "на следующую страницу",
    "вперед страница",
    "наступна сторінка",
    "далі",
    "следваща",
    "напред",
    "sljedeća",
    "sljedeće",
    "sledeća",
    "naslednja",
    "naprej",
    "următoarea",
    "următorul",
    "urmatorul",
    "înainte",
    "inainte",
    "pagina următoare",
    "kitas",
    "nākamā",
    "järgmine",
    "tovább",
    "következő oldal",
    "sonraki sayfa",
    "επόμενο",
    "επόμενη σελίδα",
    "tiếp",
    "tiếp theo",
    "trang sau",
    "selanjutnya",
    "berikutnya",
    "seterusnya",
    "หน้าถัดไป",
    "次ページ",
    "次頁",
    "つぎへ",
    "다음페이지",
    "后一页",
    "后页",
    "下一个",
    "التالية",
    "الصفحة التالية",
    "بعدی",
    "صفحه بعد",
    "הבאה",
    "הדף הבא",
    "עמוד הבא",
];
const OLDER: &[&str] = &[
    "older",
    "older posts",
    "older entries",
    "older articles",
    "older stories",
    "older news",
    "older comments",
    "older items",
    "previous entries",
    "previous posts",
    "ältere beiträge",
    "ältere einträge",
    "ältere artikel",
    "ältere posts",
    "entradas antiguas",
    "entradas más antiguas",
    "entradas anteriores",
    "articles plus anciens",
    "messages plus anciens",
    "articles précédents",
    "anciens articles",
    "postagens mais antigas",
    "posts antigos",
    "posts mais antigos",
    "post più vecchi",
    "articoli meno recenti",
    "articoli più vecchi",
    "oudere berichten",
    "oudere posts",
    "starsze posty",
    "starsze wpisy",
    "starší příspěvky",
    "staršie príspevky",
    "régebbi bejegyzések",
    "предыдущие записи",
    "более старые записи",
    "старые записи",
    "eski yazılar",
    "daha eski yazılar",
    "eski kayıtlar",
    "äldre inlägg",
    "ældre indlæg",
    "eldre innlegg",
    "vanhemmat",
    "過去の投稿",
    "以前の記事",
    "古い投稿",
    "较早的文章",
    "较旧的文章",
    "旧的文章",
    "이전 글",
    "postingan lama",
];
const NEWER: &[&str] = &[
    "newer",
    "newer posts",
    "newer entries",
    "newer articles",
    "newer stories",
    "newer news",
    "newer comments",
    "newer items",
    "next entries",
    "next posts",
    "neuere beiträge",
    "neuere einträge",
    "neuere artikel",
    "neuere posts",
    "entradas recientes",
    "entradas más recientes",
    "entradas siguientes",
    "articles plus récents",
    "messages plus récents",
    "articles suivants",
    "postagens mais recentes",
    "posts recentes",
    "posts mais recentes",
    "post più recenti",
    "articoli più recenti",
    "nieuwere berichten",
    "nieuwere posts",
    "nowsze posty",
    "nowsze wpisy",
    "novější příspěvky",
    "novšie príspevky",
    "újabb bejegyzések",
    "следующие записи",
    "более новые записи",
    "новые записи",
    "yeni yazılar",
    "daha yeni yazılar",
    "yeni kayıtlar",
    "nyare inlägg",
    "nyere indlæg",
    "nyere innlegg",
    "uudemmat",
    "新しい投稿",
    "新しい記事",
    "较新的文章",
    "新的文章",
    "다음 글",
    "postingan baru",
];
const BACK: &[&str] = &[
    "prev",
    "previous",
    "previous page",
    "back",
    "zurück",
    "vorherige",
    "précédent",
    "précédente",
    "anterior",
    "anteriores",
    "vorige",
    "precedente",
    "indietro",
    "назад",
    "предыдущая",
    "пред",
    "předchozí",
    "poprzednia",
    "wstecz",
    "föregående",
    "forrige",
    "edellinen",
    "上一页",
    "上一頁",
    "前へ",
    "이전",
    "önceki",
    "first",
    "prev page",
    "vorherige seite",
    "vorige seite",
    "page précédente",
    "précédents",
    "página anterior",
    "pagina anterior",
    "anteriors",
    "vorige pagina",
    "pagina precedente",
    "предыдущая страница",
    "předchozí strana",
    "poprzednia strona",
    "poprzedni",
    "föregående sida",
    "forrige side",
    "edellinen sivu",
    "predchádzajúca",
    "prethodna",
    "prejšnja",
    "anterioara",
    "anterioară",
    "precedent",
    "előző",
    "előző oldal",
    "önceki sayfa",
    "geri",
    "προηγούμενη",
    "προηγούμενο",
    "trước",
    "trang trước",
    "sebelumnya",
    "ก่อนหน้า",
    "前のページ",
    "前へ戻る",
    "上页",
    "上頁",
    "前一页",
    "이전 페이지",
    "السابق",
    "السابقة",
    "הקודם",
    "قبلی",
    "first page",
    "last",
    "last page",
    "letzte",
    "letzte seite",
    "erste",
    "dernière",
    "dernière page",
    "dernier",
    "première",
    "última",
    "ultima",
    "última página",
    "primera",
    "primeira",
    "laatste",
    "eerste",
    "последняя",
    "первая",
    "в конец",
    "конец",
    "ostatnia",
    "pierwsza",
    "poslední",
    "první",
    "末页",
    "末頁",
    "尾页",
    "最后一页",
    "最后",
    "首页",
    "最後",
    "最初",
    "마지막",
    "처음",
    "son",
    "ilk",
    "sista",
    "siste",
    "sidste",
    "viimeinen",
];
/// What follows "next" when it leads to something else.
const OTHERS: &[&str] = &[
    "post", "article", "story", "thread", "topic", "photo", "image", "picture", "video", "chapter", "item", "product",
    "month", "week", "day", "year", "slide", "event", "episode", "question", "step", "entry",
];
const ARROWS: &[&str] = &[">", ">>", "»", "›", "→", "▶", "►", "⟩", "➔", "→→", "»»", "⇒", "❯", "▸", "", ">|>"];

/// What a button says that fetches more of the list.
const MORE: &[&str] = &[
    "load more",
    "show more",
    "view more",
    "see more",
    "more results",
    "more posts",
    "mehr laden",
    "mehr anzeigen",
    "weitere laden",
    "charger plus",
    "voir plus",
    "afficher plus",
    "cargar más",
    "mostrar más",
    "ver más",
    "carregar mais",
    "ver mais",
    "mostrar mais",
    "carica altri",
    "mostra altri",
    "meer laden",
    "toon meer",
    "показать ещё",
    "показать еще",
    "загрузить ещё",
    "загрузить еще",
    "pokaż więcej",
    "načíst další",
    "visa fler",
    "vis flere",
    "もっと見る",
    "加载更多",
    "載入更多",
    "더보기",
];

/// Does a button fetch more of the list? It may say of what: “Load more hotels”.
pub fn says_more(label: &str) -> bool {
    let label = label.trim().to_lowercase();
    let is_short = label.chars().count() <= MAX_CHARS && label.split_whitespace().count() <= MAX_WORDS;
    is_short && MORE.iter().any(|more| label.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(more))
}

/// What a link's text says.
pub fn text(label: &str) -> Says {
    let label = label.trim().to_lowercase();
    if label.is_empty() || label.chars().count() > MAX_CHARS || label.split_whitespace().count() > MAX_WORDS {
        return Says::Nothing;
    }
    if ARROWS.contains(&label.as_str()) {
        return Says::Arrow;
    }
    let bare = label.trim_matches(|c: char| !c.is_alphanumeric());
    if [NEXT, NEXT_EAST, NEXT_MORE].iter().any(|words| words.contains(&bare)) {
        return Says::Next;
    }
    if OLDER.contains(&bare) {
        return Says::Older;
    }
    if NEWER.contains(&bare) {
        return Says::Newer;
    }
    if BACK.contains(&bare) {
        return Says::Back;
    }
    match bare.strip_prefix("next ") {
        Some(rest) if OTHERS.iter().any(|it| rest.starts_with(it)) => Says::NextOther,
        // “Next 25 results”
        Some(rest) if rest.starts_with("page") || rest.starts_with(|c: char| c.is_ascii_digit()) => Says::Next,
        None if bare.starts_with("more ") || says_more(bare) => Says::More,
        _ => Says::Nothing,
    }
}

/// Do class, id, title or label of the link, or of what it stands in alone, say so?
pub fn attributes(tree: &Tree, node: NodeId, what: Says) -> bool {
    let is_small = |it: NodeId| tree.end(it).0 - it.0 <= MAX_WRAPPER_NODES;
    let around = tree.parent(node).filter(|&parent| is_small(parent) && tree.text(parent) == tree.text(node));
    [Some(node), around].into_iter().flatten().any(|it| says(tree, it, what))
        || tree.subtree(node).skip(1).take(3).any(|it| says(tree, it, what))
}

fn says(tree: &Tree, node: NodeId, what: Says) -> bool {
    let labelled =
        ["title", "aria-label", "alt"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| text(it) == what);
    labelled || ["class", "id"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| names_say(it) == what)
}

/// What class names and ids say: `btn-next`, `pageNext`; but not `prev_next`, which both links of a pager have.
fn names_say(names: &str) -> Says {
    match (has_part(names, &["next"]), has_part(names, &["prev", "previous"])) {
        (true, false) => Says::Next,
        (false, true) => Says::Back,
        _ => Says::Nothing,
    }
}

/// Is one of these words a part of the names?
pub fn has_part(names: &str, words: &[&str]) -> bool {
    parts(names).iter().any(|part| words.contains(&part.as_str()))
}

/// Is this element a pager by its names?
pub fn is_pager(tree: &Tree, node: NodeId) -> bool {
    const PARTS: &[&str] = &[
        "pagination",
        "pager",
        "paging",
        "paginator",
        "pagenav",
        "pages",
        "pagenavi",
        "page",
        "pagelinks",
        "paginate",
        "pageing",
        "nav",
        "pagelist",
        "pagenum",
    ];
    ["class", "id", "role", "aria-label"]
        .iter()
        .filter_map(|name| tree.attribute(node, name))
        .any(|it| has_part(it, PARTS))
}

/// Is this a part of the page that pages through something else than the list?
pub fn is_other_widget(tree: &Tree, node: NodeId) -> bool {
    const PARTS: &[&str] =
        &["calendar", "datepicker", "carousel", "slider", "slideshow", "gallery", "slick", "lightbox"];
    ["class", "id"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| has_part(it, PARTS))
}

/// `btnNext page_links` as btn, next, page, links.
fn parts(names: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut was_small = false;
    for c in names.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_small) {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_alphanumeric() {
            part.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}
