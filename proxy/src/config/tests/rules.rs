//! `[[rules]]` and `[firewall]`: what is read, what is refused, and what is warned of.

use super::super::{Firewall, FirewallMode, Rule};
use super::{LEAST, parse, problems_around, warnings};
use crate::routing::{self, Action, Hazard, Matcher, StatementKind, TableName};

const REPORTING: &str =
    "[[servers]]\nname = \"db2\"\naddress = \"db2:3306\"\nrole = \"replica\"\nlabels = [\"reporting\"]\n";

fn table(schema: Option<&str>, table: &str) -> TableName {
    TableName { schema: schema.map(Into::into), table: table.into() }
}

#[test]
fn each_key_of_a_rule_fills_its_own_field() {
    let text = r#"
        [[rules]]
        name = "all"
        enabled = false
        user = ["app", "batch"]
        client = ["10.0.0.0/8", "localhost"]
        schema = "shop"
        table = ["orders", "shop.items", "`a.b`.`c.d`"]
        kind = ["read", "session_read"]
        fingerprint = "00000000000000fF"
        regex = "^select"
        action = "label:reporting"
        [[rules]]
        name = "refuse"
        action = "reject"
        message = "not here"
        [firewall]
        sleep = "reject"
        drop = "off"
    "#;
    let config = parse(&format!("{LEAST}{REPORTING}{text}"));
    let all = Rule {
        users: vec!["app".to_owned(), "batch".to_owned()],
        clients: vec!["10.0.0.0/8".parse().unwrap(), "localhost".parse().unwrap()],
        rule: routing::Rule {
            name: "all".to_owned(),
            enabled: false,
            matcher: Matcher {
                schemas: vec!["shop".to_owned()],
                tables: vec![table(None, "orders"), table(Some("shop"), "items"), table(Some("a.b"), "c.d")],
                kinds: vec![StatementKind::Read, StatementKind::SessionRead],
                fingerprints: vec![255],
                regex: Some("^select".parse().unwrap()),
            },
            action: Action::Label("reporting".to_owned()),
        },
    };
    assert_eq!(config.rules[0], all);
    assert_eq!(config.rules[1].rule.action, Action::Reject("not here".to_owned()));
    assert!(config.rules[1].rule.enabled && config.rules[1].users.is_empty());
    assert_eq!(config.firewall.mode(Hazard::Sleep), FirewallMode::Reject);
    assert_eq!(config.firewall.mode(Hazard::Drop), FirewallMode::Off);
    assert_eq!(parse(LEAST).firewall, Firewall::default());
}

#[test]
fn a_rule_is_for_its_users_and_clients() {
    let text = "[[rules]]\nname = \"r\"\naction = \"primary\"\nuser = \"app\"\nclient = [\"10.0.0.0/8\", \"localhost\"]\n";
    let rule = &parse(&format!("{LEAST}{text}")).rules[0];
    let ip = |text: &str| Some(text.parse().unwrap());
    assert!(
        rule.is_for(b"app", ip("10.1.2.3"))
            && rule.is_for(b"app", ip("::ffff:10.1.2.3"))
            && rule.is_for(b"app", None)
    );
    assert!(!rule.is_for(b"app", ip("11.1.2.3")) && !rule.is_for(b"App", None));
}

/// The problems of one rule, without what comes before the key.
fn of(keys: &str) -> Vec<String> {
    let lines = problems_around("", &format!("[[rules]]\n{keys}\n"));
    lines.iter().map(|line| line.split_once("rules[0].").unwrap().1.to_owned()).collect()
}

#[test]
fn what_a_rule_cannot_be_is_named_with_the_mend() {
    for (keys, expected) in [
        (
            "name = \"r\"",
            "action: is missing; write \"primary\", \"replica\", \"label:NAME\", \"reject\" or \"allow\"",
        ),
        ("action = \"allow\"", "name: is missing; any unique word will do"),
        ("name = \"a b\"\naction = \"allow\"", "name: must be 1 to 64 letters, digits, '_', '.' or '-'"),
        (
            "name = \"firewall.x\"\naction = \"allow\"",
            "name: \"firewall.\" begins the names of the firewall's own rules",
        ),
        (
            "name = \"r\"\naction = \"master\"",
            "action: \"master\": no action; write \"primary\", \"replica\", \"label:NAME\", \"reject\" or \"allow\"",
        ),
        (
            "name = \"r\"\naction = \"label:\"",
            "action: \"label:\": no action; write \"primary\", \"replica\", \"label:NAME\", \"reject\" or \"allow\"",
        ),
        (
            "name = \"r\"\naction = \"label:x\"",
            "action: no server has the label \"x\"; write labels = [\"x\"] in one of [[servers]]",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nmessage = \"x\"",
            "message: only action = \"reject\" has a message",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nkind = \"raed\"",
            "kind: \"raed\": is not \"read\", \"session_read\", \"primary_read\", \"last_statement\", \"session_set\", \"transaction\", \"prepared\", \"kill\" or \"write\"; did you mean \"read\"?",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nfingerprint = [\"12\"]",
            "fingerprint[0]: \"12\": is not 16 hex digits as telamon explain prints them",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nfingerprint = \"00000000000000ff, 00000000000000fe\"",
            "fingerprint: must be a list where there are several: write [\"00000000000000ff\", \"00000000000000fe\"]",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nfingerprint = 12",
            "fingerprint: must be a list: write [\"…\", \"…\"]; found a whole number",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nregex = \"a(\"",
            "regex: \"a(\": no regular expression: unclosed group",
        ),
        (
            "name = \"r\"\naction = \"allow\"\ntable = \"a.b.c\"",
            "table: \"a.b.c\": is neither \"table\" nor \"schema.table\" (a name with a dot goes in backticks)",
        ),
        ("name = \"r\"\naction = \"allow\"\nuser = \"\"", "user: \"\": is empty"),
        (
            "name = \"r\"\naction = \"allow\"\nenabled = 1",
            "enabled: must be true or false without quotes; found a whole number",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nclient = \"10.0.0\"",
            "client: \"10.0.0\": is neither an address (\"10.0.0.7\", \"fd00::7\"), nor a network (\"10.0.0.0/8\", \"fd00::/8\"), nor \"localhost\" (the Unix socket)",
        ),
        (
            "name = \"r\"\naction = \"allow\"\nusers = \"a\"",
            "users: unknown key; did you mean rules[0].user?",
        ),
    ] {
        assert_eq!(of(keys), [expected], "{keys}");
    }
}

#[test]
fn names_and_numbers_of_rules_and_words_of_the_firewall_are_checked() {
    let twice = "[[rules]]\nname = \"r\"\naction = \"primary\"\nuser = \"app\"\n";
    let lines = problems_around("", &format!("{twice}{twice}"));
    assert_eq!(lines, ["telamon.toml:13: rules[1].name: the same name as rules[0].name; names are unique"]);
    let many = |n| {
        (0..n).map(|at| format!("[[rules]]\nname = \"r{at}\"\naction = \"primary\"\nregex = \"t{at}$\"\n"))
    };
    let too_many: String = many(1001).collect();
    assert!(problems_around("", &too_many)[0].ends_with("rules: there are 1001 of them; 1000 are the most"));
    assert_eq!(warnings(&format!("{LEAST}{}", many(1000).collect::<String>())), [""; 0]);
    assert!(
        problems_around("", "[firewall]\nsleep = \"on\"\n")[0]
            .ends_with("firewall.sleep: \"on\" is not \"off\" or \"reject\"")
    );
}

/// The warnings of some rules, whose keys but for name stand in each line, joined by `;`.
fn warned(rules: &[&str]) -> Vec<String> {
    let mut text =
        LEAST.replace("password = \"\"", "password = \"\"\nclients = [\"10.0.0.0/8\"]") + REPORTING;
    for (at, keys) in rules.iter().enumerate() {
        text += &format!("[[rules]]\nname = \"r{at}\"\n{}\n", keys.replace("; ", "\n"));
    }
    warnings(&text).iter().map(|line| line.split_once(": ").unwrap().1.to_owned()).collect()
}

#[test]
fn a_rule_that_can_never_match_is_warned_of() {
    for (keys, expected) in [
        (
            "action = \"primary\"; user = \"ap\"",
            "rules[0].user: none of [[users]] is \"ap\", so the rule never matches; did you mean \"app\"?",
        ),
        (
            "action = \"primary\"; user = [\"app\", \"zzzzzz\"]",
            "rules[0].user: none of [[users]] is \"zzzzzz\"",
        ),
        (
            "action = \"primary\"; client = \"192.168.0.0/16\"",
            "rules[0].client: never matches: the clients of [[users]] leave none of these in",
        ),
        (
            "action = \"replica\"; kind = \"write\"",
            "rules[0].kind: is never followed: only statements of kind \"read\" run on replicas",
        ),
        (
            "action = \"allow\"",
            "rules[0].action: has no effect: no rule comes after it, and the firewall is off",
        ),
        (
            "action = \"primary\"; regex = \"name = 'x'\"",
            "rules[0].regex: never matches: what it is compared with has a ? in place of each literal; telamon explain shows the text",
        ),
        (
            "action = \"primary\"; regex = \"id = [0-9]+\"",
            "rules[0].regex: never matches: what it is compared with has \"id = ?\" for \"id = 5\"; telamon explain shows the text",
        ),
    ] {
        assert_eq!(warned(&[keys]), [expected], "{keys}");
    }
    for good in [
        "action = \"primary\"; client = \"10.1.0.0/16\"",
        "action = \"primary\"; client = \"0.0.0.0/0\"",
        "action = \"replica\"; kind = [\"read\", \"write\"]",
        "action = \"label:reporting\"",
        "action = \"allow\"; enabled = false; user = \"nobody\"",
    ] {
        assert_eq!(warned(&[good]), [""; 0], "{good}");
    }
}

#[test]
fn a_rule_for_clients_of_a_socket_that_nobody_listens_on_is_warned_of() {
    let rule = "[[rules]]\nname = \"r\"\naction = \"primary\"\nclient = ";
    let warned = |listen: &str, client: &str| warnings(&format!("{listen}{LEAST}{rule}{client}\n"));
    let all = warned("", "\"localhost\"");
    assert!(
        all.len() == 1
            && all[0].ends_with(
                "rules[0].client: never matches: no address of listen is a Unix socket, \
             and clients over TCP are none of \"localhost\"; write \"127.0.0.1\" or \"::1\""
            ),
        "{all:?}"
    );
    let some = warned("", "[\"localhost\", \"127.0.0.1\"]");
    assert!(some.len() == 1 && !some[0].contains("never matches"), "{some:?}");
    assert_eq!(warned("listen = [\"unix:/tmp/t.sock\"]\n", "\"localhost\""), [""; 0]);
}

#[test]
fn a_rule_behind_a_wider_one_is_warned_of() {
    let never = "rules[1]: never matches: rules[0] (\"r0\") stands before it and takes all of its statements";
    for (wide, narrow) in [
        ("", "table = \"orders\""),
        ("table = \"orders\"", "table = \"shop.Orders\"; kind = \"read\""),
        ("regex = \"orders\"", "regex = \"orders\""),
        ("regex = \"orders\"", "regex = \"select a from orders\""),
        ("kind = [\"read\", \"write\"]", "kind = \"write\"; user = \"app\""),
        ("client = \"10.0.0.0/8\"", "client = [\"10.1.0.0/16\", \"10.2.3.4\"]"),
    ] {
        let rules = [wide, narrow].map(|keys| format!("action = \"primary\"; {keys}"));
        assert_eq!(warned(&rules.each_ref().map(String::as_str)), [never], "{wide} / {narrow}");
        let turned = [rules[1].as_str(), rules[0].as_str()];
        assert!(
            wide == narrow.replace("select a from ", "") || warned(&turned).is_empty(),
            "{wide} / {narrow}"
        );
        let disabled = [format!("{}; enabled = false", rules[0]), rules[1].clone()];
        assert_eq!(warned(&disabled.each_ref().map(String::as_str)), [""; 0], "{wide} / {narrow}");
    }
}
