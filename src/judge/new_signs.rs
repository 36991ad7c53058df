//! Filters the signs of a page (login form, error page, block page): only those that no good run had count.

use super::window::Window;
use crate::model::Signs;

/// The signs that no good run had.
pub(super) fn of(signs: &Signs, window: &Window<'_>) -> Signs {
    let before = in_good_runs(window);
    Signs {
        login: signs.login && !before.login,
        blocked: signs.blocked && !before.blocked,
        error: signs.error && !before.error,
        no_results: signs.no_results && !before.no_results,
        cut_off: signs.cut_off && !before.cut_off,
    }
}

/// The signs that any good run had.
pub(super) fn in_good_runs(window: &Window<'_>) -> Signs {
    let any = |sign: fn(&Signs) -> bool| window.any(|run| sign(&run.verdict.statistics.signs));
    Signs {
        login: any(|it| it.login),
        blocked: any(|it| it.blocked),
        error: any(|it| it.error),
        no_results: any(|it| it.no_results),
        cut_off: any(|it| it.cut_off),
    }
}
