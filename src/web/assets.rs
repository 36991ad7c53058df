//! Style sheets and scripts, compiled in. Their addresses contain a content hash, so browsers may cache them forever.

use std::sync::LazyLock;

pub(super) struct Asset {
    name: &'static str,
    pub kind: &'static str,
    pub text: &'static str,
}

const ASSETS: &[Asset] = &[
    Asset { name: "style.css", kind: "text/css; charset=utf-8", text: include_str!("style.css") },
    Asset { name: "app.js", kind: "text/javascript; charset=utf-8", text: include_str!("app.js") },
    Asset { name: "label.css", kind: "text/css; charset=utf-8", text: include_str!("label.css") },
    Asset { name: "label.js", kind: "text/javascript; charset=utf-8", text: include_str!("label.js") },
    Asset { name: "add.js", kind: "text/javascript; charset=utf-8", text: include_str!("add.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("icon.svg") },
];

/// One hash over all assets: a change to one renews the addresses of all.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|asset| asset.text).collect();
    let digest = ring::digest::digest(&ring::digest::SHA256, all.as_bytes());
    digest.as_ref().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});

pub(super) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// The address of an asset. Scripts import each other by relative paths, without the version.
pub(super) fn url(name: &'static str) -> String {
    debug_assert!(find(name).is_some(), "{name} is compiled in");
    format!("/assets/{}/{name}", *VERSION)
}
