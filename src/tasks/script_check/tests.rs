use super::*;

fn check_toml(task: &str, script: &str) -> Vec<String> {
    let task: Task = toml::from_str(task).expect("a task of the table");
    let script: Script = toml::from_str(script).expect("a script of the table");
    check(&task, &script).into_iter().map(|it| format!("{}: {}", it.step(), it.message)).collect()
}

#[test]
fn a_mistake_in_the_script_is_found_before_it_runs() {
    let site = "url = 'https://shop.test/'";
    for (task, script, problem) in [
        ("", "", "0: the task has no `url`"),
        (site, "step = [{ follow = { text = 'x' } }]", "1: `follow` needs a page, and no step before it gets one"),
        (site, "step = [{ get = '/a' }, { follow = {} }]", "2: `follow` does not say which link"),
        (site, "step = [{ get = '/a' }, { follow = { css = 'a[' } }]", "2: `a[` is not a CSS selector"),
        (site, "step = [{ get = '/a?x=${x}' }]", "1: nothing sets the variable `x`"),
        (site, "step = [{ get = '/a?x=${x' }]", "1: `${` is never closed in “/a?x=${x”"),
        (site, "step = [{ set = { today = 'x' } }, { get = '/' }]", "1: `today` cannot be a variable's name"),
        (site, "step = [{ get = '/a' }, { expect = {} }]", "2: `expect` has no condition"),
        (site, "step = [{ get = '/a' }, { paginate = { max_pages = 0 } }]", "2: `max_pages = 0` reads no page at all"),
        ("", "step = [{ get = '/a' }]", "1: “/a” is a relative URL, and the task has no `url`"),
        (
            site,
            "step = [{ get = { url = '/a', headers = { Host = 'x' } } }]",
            "1: the header `Host` is set by pieme itself",
        ),
        (
            "fetch.allow_hosts = ['shop.test']",
            "step = [{ get = 'https://other.test/' }]",
            "1: https://other.test/ cannot be fetched: the host other.test is not allowed for this task; add it to \
             `fetch.allow_hosts` in task.toml if it belongs to the site",
        ),
    ] {
        assert_eq!(check_toml(task, script), [problem], "{task} {script}");
    }
}

#[test]
fn a_good_script_has_no_problems() {
    let script = "[[step]]\nset = { city = 'Halifax', from = '${today+7d}' }\n\
        [[step]]\nget = { url = '/', query = { c = '${city}' } }\n\
        [[step]]\nsubmit = { form = 'login', fields = { password = '${secret:shop}' } }\n\
        [[step]]\nexpect = { status = 200 }\n\
        [[step]]\npaginate = {}\n";
    assert_eq!(check_toml("url = 'https://shop.test/'", script), Vec::<String>::new());
    assert_eq!(check_toml("url = 'https://shop.test/'", ""), Vec::<String>::new());
}
