//! A remote server is reached only over TLS with a valid certificate: tested on a PostgreSQL that has one.

use std::net::Ipv4Addr;

use super::*;
use crate::postgres::Server;
use crate::stage::Stage;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

const PASSWORD: &str = "k&y w:rd/ß";

/// Nobody connects without a password, nor unencrypted.
const ENCRYPTED: &str = "hostssl all pieme all scram-sha-256";
const ANYHOW: &str = "host all pieme all scram-sha-256";

/// A certificate authority, trusted or not.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no host's names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// A certificate for a name, and its key.
    fn vouch(&self, name: &str, ends_in: i32) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.not_after = date_time_ymd(ends_in, 1, 1);
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.0).expect("a certificate").pem(), key.serialize_pem())
    }
}

/// A server with TLS, and the folder of a user who has its password.
struct Meeting {
    stage: Stage,
    server: Server,
    _folder: TempDir,
    at: Ipv4Addr,
}

impl Meeting {
    fn new() -> Meeting {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let server = Server::own(folder.path());
        server.schema().psql(&format!("ALTER ROLE pieme PASSWORD '{PASSWORD}'"));
        // A loopback address that no other test uses, so that any port of it is free.
        let [a, b, c, d] = std::process::id().to_be_bytes();
        let at = Ipv4Addr::new(127, 64 + (a ^ b) % 128, c, d.clamp(1, 254));
        let stage = Stage::new();
        stage.write("secrets/db", PASSWORD);
        stage.make_private("secrets/db");
        Meeting { stage, server, _folder: folder, at }
    }

    /// Restarts the server with this certificate and these rules.
    fn serve(&mut self, certified: Option<&(String, String)>, rules: &str) {
        self.server.stop("fast");
        self.server.listen(self.at, certified.map(|(certificate, key)| (certificate.as_str(), key.as_str())), rules);
        self.server.start();
    }

    fn trust(&mut self, authority: &Authority) {
        self.stage.write("authority.pem", &authority.0.pem());
        let file = self.stage.path("authority.pem").display().to_string();
        self.stage.set_environment("SSL_CERT_FILE", &file);
    }

    fn ask(&self, query: &str) {
        self.ask_as("pieme:${secret:db}", query);
    }

    fn ask_as(&self, whom: &str, query: &str) {
        let config = format!("store = \"postgres://{whom}@{}/postgres?schema=rows{query}\"\n", self.at);
        let granted = self.stage.read("config.toml");
        let granted = granted.lines().find(|line| line.starts_with("private.")).expect("the stage has grants");
        self.stage.write("config.toml", &format!("{config}{granted}\n"));
    }

    /// With this query the connection must be refused with this reason, and the password must never be shown.
    fn is_refused(&self, query: &str, why: &str) {
        self.ask(query);
        self.must_say(why);
    }

    fn must_say(&self, why: &str) {
        let said = self.stage.pieme(&["status"]);
        assert!(said.code == 1 && said.stderr.contains(why), "{} {}", said.code, said.stderr);
        assert!(!said.stderr.contains("w:rd") && !said.stderr.contains("w%3Ard"), "{}", said.stderr);
    }

    /// Whether each connection of pieme's is encrypted.
    fn encrypted(&self) -> String {
        self.server.schema().psql(
            "SELECT DISTINCT ssl, coalesce(version, '') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
             WHERE application_name = 'pieme'",
        )
    }
}

#[test]
fn rows_and_password_go_to_the_server_encrypted_and_bound_to_its_certificate() {
    let mut meeting = Meeting::new();
    let authority = Authority::new("ours");
    meeting.serve(Some(&authority.vouch(&meeting.at.to_string(), 2999)), ENCRYPTED);
    meeting.trust(&authority);
    // A man in the middle could not answer: channel binding ties the password proof to this certificate.
    meeting.ask("&sslmode=require&channel_binding=require");
    meeting.stage.start_daemon();
    assert_eq!(meeting.encrypted(), "t|TLSv1.3");
    meeting.stage.drop_folder("practice-shop");
    meeting.stage.wait_for("rows", || meeting.stage.status("practice-shop")["rows"].as_u64().is_some_and(|it| it > 0));
    assert_eq!(meeting.stage.pieme(&["records", "practice-shop"]).code, 0);
}

#[test]
fn a_server_that_does_not_prove_who_it_is_is_told_nothing() {
    let mut meeting = Meeting::new();
    let (ours, impostor, other) = (Authority::new("ours"), Authority::new("ours"), Authority::new("other"));
    let at = meeting.at.to_string();
    let safe = "&sslmode=require";
    meeting.trust(&ours);
    for authority in [other, impostor] {
        meeting.serve(Some(&authority.vouch(&at, 2999)), ENCRYPTED);
        meeting.is_refused(safe, "its certificate was issued by an authority that this machine does not trust");
    }
    meeting.serve(Some(&ours.vouch("db.example", 2999)), ENCRYPTED);
    meeting.is_refused(safe, &format!("its certificate is for db.example, not for {at}"));
    meeting.serve(Some(&ours.vouch(&at, 2020)), ENCRYPTED);
    meeting.is_refused(safe, "its certificate has expired");
    let log = meeting.server.log();
    assert!(
        log.contains("connection received: host=127.")
            && !log.contains("connection authorized: user=pieme database=postgres application_name=pieme"),
        "{log}"
    );
}

#[test]
fn what_is_not_encrypted_is_so_only_where_the_address_and_the_server_say_so() {
    let mut meeting = Meeting::new();
    let authority = Authority::new("ours");
    let certified = authority.vouch(&meeting.at.to_string(), 2999);
    meeting.trust(&authority);
    meeting.serve(Some(&certified), ENCRYPTED);
    meeting.is_refused("&sslmode=disable", "no encryption");
    meeting.serve(Some(&certified), ANYHOW);
    for query in ["&sslmode=disable", ""] {
        meeting.ask(query);
        meeting.stage.start_daemon();
        assert_eq!(meeting.encrypted(), "f|", "{query}");
        meeting.stage.signal_daemon("-TERM");
        assert_eq!(meeting.stage.daemon_ended(), Some(0));
    }
    // Without channel binding no password is sent where the address requires it.
    meeting.is_refused("&sslmode=disable&channel_binding=require", "channel binding");
    meeting.ask_as("pieme", "&sslmode=require");
    meeting.must_say("rejected the login: invalid configuration: password missing");
    meeting.stage.write("secrets/db", "another");
    meeting.is_refused("&sslmode=require", "rejected the login: password authentication failed");
}

#[test]
fn a_server_that_does_not_encrypt_is_refused_where_it_should() {
    let mut meeting = Meeting::new();
    meeting.serve(None, ANYHOW);
    meeting
        .is_refused("&sslmode=require", "it does not support TLS; `sslmode=disable` in the address connects without");
}
