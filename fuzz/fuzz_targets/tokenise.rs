//! Bytes → text → tree → tokens → symbols, whatever the bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::page::encode::{EncodedPage, MAX_SYMBOLS, TagEncoding};
use pieme::page::parse_limit::{MAX_ATTRIBUTES, MAX_DEPTH};
use pieme::page::{Tokens, Tree, charset};

const ENCODINGS: [TagEncoding; 6] = [
    TagEncoding::Block,
    TagEncoding::NoSpecial,
    TagEncoding::NoPhysical,
    TagEncoding::NoLogical,
    TagEncoding::Tags,
    TagEncoding::Chunks,
];

fuzz_target!(|bytes: &[u8]| {
    // The first byte picks what the header says.
    let told = match bytes.first() {
        Some(0) => Some("utf-16le"),
        Some(1) => Some("shift_jis"),
        Some(2) => Some("iso-2022-jp"),
        Some(3) => Some("gb18030"),
        _ => None,
    };
    let tree = Tree::parse(&charset::decode(bytes, told).text);
    for node in tree.subtree(tree.root()) {
        if let Some(parent) = tree.parent(node) {
            assert!(tree.contains(parent, node) && tree.end(node) <= tree.end(parent));
        }
        assert!(tree.element(node).is_none_or(|it| it.attributes().count() <= MAX_ATTRIBUTES));
        assert!(tree.ancestors(node).count() <= 2 * MAX_DEPTH as usize);
    }
    let tokens = Tokens::new(&tree);
    for encoding in ENCODINGS {
        let encoded = EncodedPage::new(&tokens, encoding);
        assert!(encoded.symbols.len() <= MAX_SYMBOLS + 1);
        let all = encoded.span(0..encoded.symbols.len());
        assert!(all.start <= all.stop && all.stop as usize <= tokens.list.len());
    }
    tokens.outline();
});
