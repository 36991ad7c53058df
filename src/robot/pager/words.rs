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
    "older",
    "older posts",
    "older entries",
    "more results",
    "next results",
    "forward",
    "weiter",
    "nächste",
    "nächste seite",
    "naechste",
    "vor",
    "vorwärts",
    "ältere beiträge",
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
const BACK: &[&str] = &[
    "prev",
    "previous",
    "previous page",
    "back",
    "newer",
    "newer posts",
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
    if NEXT.contains(&bare) || NEXT_EAST.contains(&bare) {
        return Says::Next;
    }
    if BACK.contains(&bare) {
        return Says::Back;
    }
    match bare.strip_prefix("next ") {
        Some(rest) if OTHERS.iter().any(|it| rest.starts_with(it)) => Says::NextOther,
        Some(rest) if rest.starts_with("page") || rest.chars().all(|c| c.is_ascii_digit()) => Says::Next,
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
