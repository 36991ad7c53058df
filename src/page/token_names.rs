//! Names under which a site sends CSRF tokens, nonces and session ids, and links that carry one.

use url::Url;

/// Names of fields, headers, cookies and parameters, in small letters and digits alone.
const NAMES: &[&str] = &["sesskey", "formkey", "eventvalidation", "sessionid", "jsessionid", "phpsessid"];
const NAME_PARTS: &[&str] = &["csrf", "xsrf", "viewstate"];
const NAME_ENDINGS: &[&str] = &["token", "nonce"];
/// Parts of names of tokens that are only pagination cursors.
const CURSORS: &[&str] = &["page", "next", "cursor", "continu", "sync", "resume", "after", "before"];
/// Parameters that hold a session id if their value is long; `sid` may also be the number of a story.
const SESSION_NAMES: &[&str] = &["sid", "oscsid", "zenid", "cfid", "session"];
const MIN_SESSION_CHARS: usize = 16;

/// Whether a field, header, cookie or parameter of this name holds a token.
pub fn is_token_name(name: &str) -> bool {
    let plain = plain(name);
    let is_cursor = || CURSORS.iter().any(|word| plain.contains(word));
    NAMES.contains(&plain.as_str())
        || NAME_PARTS.iter().any(|word| plain.contains(word))
        || (NAME_ENDINGS.iter().any(|end| plain.ends_with(end)) && !is_cursor())
}

/// Whether an address carries a token: it is another one in the next session, although it leads to the same page.
pub fn carries_token(address: &str) -> bool {
    if !address.contains('=') {
        return false;
    }
    // Only the query and path parameters count, so that any base will do.
    let base = Url::parse("http://base.invalid/").ok();
    let Ok(url) = Url::options().base_url(base.as_ref()).parse(address) else { return false };
    let of_path = url.path().split('/').filter_map(|part| part.split_once(';')?.1.split_once('='));
    let of_path = of_path.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let is_token = |(name, value): (String, String)| {
        is_token_name(&name)
            || SESSION_NAMES.contains(&plain(&name).as_str()) && value.chars().count() >= MIN_SESSION_CHARS
    };
    let of_query = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
    of_path.chain(of_query).any(is_token)
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_with_a_token_are_known_by_its_name() {
        for (address, carries) in [
            ("/wp-admin/post.php?post=7&action=trash&_wpnonce=1f3a9c22e1", true),
            ("?delete=7&csrf_token=abc", true),
            ("view;jsessionid=0A1B2C3D?id=4", true),
            ("https://shop.example/p.php?PHPSESSID=8d7f6a5b4c&id=9", true),
            ("list.php?sid=5f0c1a2b3d4e5f60718293a4b5c6d7e8&id=4", true),
            ("article.pl?sid=12/34/56", false),
            ("/api?pageToken=CAUQAA", false),
            ("/hotels/adler?id=7", false),
            ("mailto:adler@hotels.example", false),
            ("http://[", false),
        ] {
            assert_eq!(carries_token(address), carries, "{address}");
        }
    }
}
