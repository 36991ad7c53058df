//! curl's options: which take a value, and which do not matter to a robot.

/// How an option of curl is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// It has a value that a robot uses, or is not supported and reported.
    Value,
    /// It has a value that only affects curl itself.
    IgnoredValue,
    Flag,
    /// pieme implies it, or it only affects curl's output.
    IgnoredFlag,
    Unknown,
}

pub fn option_kind(name: &str) -> OptionKind {
    match name {
        "url" | "request" | "header" | "user-agent" | "referer" | "user" | "oauth2-bearer" | "cookie" | "data"
        | "data-ascii" | "data-binary" | "data-raw" | "data-urlencode" | "url-query" | "json" | "form"
        | "form-string" => OptionKind::Value,
        "alt-svc" | "aws-sigv4" | "cacert" | "capath" | "cert" | "cert-type" | "ciphers" | "config" | "connect-to"
        | "continue-at" | "create-file-mode" | "crlfile" | "curves" | "delegation" | "dns-interface"
        | "dns-ipv4-addr" | "dns-ipv6-addr" | "dns-servers" | "doh-url" | "ech" | "egd-file" | "engine"
        | "etag-compare" | "etag-save" | "expect100-timeout" | "haproxy-clientip" | "hsts" | "interface"
        | "ipfs-gateway" | "ip-tos" | "keepalive-cnt" | "keepalive-time" | "key" | "key-type" | "krb" | "libcurl"
        | "limit-rate" | "local-port" | "login-options" | "max-filesize" | "max-redirs" | "netrc-file" | "noproxy"
        | "output-dir" | "parallel-max" | "pass" | "pinnedpubkey" | "preproxy" | "proto" | "proto-default"
        | "proto-redir" | "proxy" | "proxy-cacert" | "proxy-cert" | "proxy-header" | "proxy-key" | "proxy-pass"
        | "proxy-user" | "pubkey" | "quote" | "random-file" | "range" | "rate" | "request-target" | "resolve"
        | "sasl-authzid" | "service-name" | "socks4" | "socks4a" | "socks5" | "socks5-hostname" | "speed-limit"
        | "speed-time" | "tftp-blksize" | "time-cond" | "tls-max" | "tls13-ciphers" | "tlsauthtype" | "tlspassword"
        | "tlsuser" | "unix-socket" | "upload-file" | "variable" | "vlan-priority" => OptionKind::Value,
        "abstract-unix-socket" | "happy-eyeballs-timeout-ms" => OptionKind::Value,
        "connect-timeout" | "cookie-jar" | "dump-header" | "max-time" | "output" | "retry" | "retry-delay"
        | "retry-max-time" | "stderr" | "trace" | "trace-ascii" | "write-out" => OptionKind::IgnoredValue,
        "get" | "head" | "insecure" | "netrc" => OptionKind::Flag,
        "compressed" | "silent" | "show-error" | "location" | "location-trusted" | "include" | "verbose" | "fail"
        | "fail-with-body" | "globoff" | "path-as-is" | "progress-bar" | "http1.0" | "http1.1" | "http2" | "http3"
        | "tcp-nodelay" | "ipv4" | "ipv6" | "remote-name" | "remote-header-name" | "remote-name-all"
        | "retry-all-errors" | "retry-connrefused" | "tlsv1" | "tlsv1.0" | "tlsv1.1" | "tlsv1.2" | "tlsv1.3"
        | "basic" | "raw" | "disable" | "create-dirs" | "trace-time" | "styled-output" | "next" | "ssl-reqd"
        | "anyauth" => OptionKind::IgnoredFlag,
        "http2-prior-knowledge" | "junk-session-cookies" => OptionKind::IgnoredFlag,
        _ if name.starts_with("no-") => OptionKind::IgnoredFlag,
        _ => OptionKind::Unknown,
    }
}

/// Short options that take a value.
pub const SHORT_WITH_VALUE: &str = "ACDEFHKPQTUXYbcdehmortuwxyz";

/// The long names of the supported short options. All ignored ones count as the same; an unknown one has no name.
pub fn long_name(short: char) -> &'static str {
    match short {
        'A' => "user-agent",
        'b' => "cookie",
        'd' => "data",
        'e' => "referer",
        'F' => "form",
        'G' => "get",
        'H' => "header",
        'I' => "head",
        'k' => "insecure",
        'u' => "user",
        'X' => "request",
        'x' => "proxy",
        'L' | 's' | 'S' | 'i' | 'v' | 'f' | 'g' | 'N' | '#' | '0' | '1' | '4' | '6' | 'O' | 'J' | 'j' | 'q' => "silent",
        'o' | 'm' | 'w' | 'D' | 'c' => "output",
        _ => "",
    }
}
