//! The page's content; tests/tests/bench.rs looks at it in a browser.

use super::super::sample;
use super::*;

#[test]
fn the_page_stands_alone_and_says_everything_in_words_too() {
    let page = page(&[sample::document()]);
    for outside in ["src=", "http://", "@import", "url("] {
        assert!(!page.contains(outside), "{outside} needs a network");
    }
    for kind in ["tps", "reads", "writes", "latency", "distribution", "rounds"] {
        assert!(page.contains(&format!("data-chart={kind} ")), "{kind}");
    }
    assert_eq!(page.matches("aria-label=").count(), page.matches("<details><summary>").count() - 1);
    assert!(page.contains("The MIT License") && page.contains("Leon Sorokin"));
}

#[test]
fn names_and_commands_cannot_become_markup() {
    let mut document = sample::document();
    document.command.push("</script><script>alert(1)</script>".into());
    document.runs[0].targets[1].name = "</script><img>".into();
    let page = page(&[document]);
    assert!(!page.contains("<script>alert") && !page.contains("</script><img>"));
    assert_eq!(page.matches("</script>").count(), 3);
}

#[test]
fn several_reports_are_one_page() {
    let page = page(&[sample::document(), sample::document()]);
    assert!(page.contains("data-run=0 ") && page.contains("data-run=1 "));
}
