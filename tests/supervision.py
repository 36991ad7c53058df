#!/usr/bin/env python3
"""supervision.py PIEME [--missed-only] [--only NAME] [--jobs N] [--json OUT]   (standard library only)

What does each kind of help repair? Runs `pieme learn` over the pages beside the project (PIEME_CORPUS, default ../shared): the
corpus, and the first capture of each epoch of the drift series. What a person would say is made from the true records: of the
first one or two of them. Right is as in tools/evaluate.py there: the right number of rows, each true record in one of its own.
The table of docs/supervision.md is made by this:

    python3 tests/supervision.py target/release/pieme
"""
import argparse, concurrent.futures as cf, html.parser, json, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get('PIEME_CORPUS') or os.path.join(HERE, '..', '..', 'shared')
sys.path.insert(0, os.path.join(SHARED, 'tools'))
from evaluate import call, rows_right, truth_of, truth_records  # noqa: E402


def corpus_pages():
    top = os.path.join(SHARED, 'corpus')
    for name in sorted(os.listdir(top)):
        truth = os.path.join(top, name, 'truth.json')
        if os.path.exists(truth):
            yield 'corpus', name, os.path.join(top, name, 'page.html'), truth_records(json.load(open(truth))['main_list'])


def drift_pages():
    """The first capture with a list of each epoch."""
    top = os.path.join(SHARED, 'drift')
    for name in sorted(os.listdir(top)):
        series = os.path.join(top, name, 'series.json')
        if not os.path.exists(series):
            continue
        epoch = None
        for capture in json.load(open(series))['captures']:
            truth = truth_of(os.path.join(top, name), capture) if capture['kind'] in ('ok', 'redesign') else None
            if truth and capture['template_epoch'] != epoch:
                epoch = capture['template_epoch']
                yield 'drift', '%s %s' % (name, capture['file']), os.path.join(top, name, capture['file']), truth


class Text(html.parser.HTMLParser):
    """The page's texts, and its tags with classes."""
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.parts, self.marks, self.skipped = [], {}, 0

    def handle_starttag(self, tag, attrs):
        self.skipped += tag in ('script', 'style')
        for word in (dict(attrs).get('class') or '').split():
            key = '%s.%s' % (tag, word)
            self.marks[key] = self.marks.get(key, 0) + 1

    def handle_endtag(self, tag):
        self.skipped -= tag in ('script', 'style') and self.skipped > 0

    def handle_data(self, data):
        if not self.skipped:
            self.parts.append(data)


def decoded(path):
    raw = open(path, 'rb').read()
    try:
        return raw.decode('utf8')
    except UnicodeDecodeError:
        return raw.decode('cp1252', 'replace')


class Page:
    """What a person sees of a page: its text, the records they want, and its source if they look."""
    def __init__(self, path, truth):
        self.path, self.truth = path, truth
        reader = Text()
        reader.feed(decoded(path))
        self.text, self.marks = ' '.join(' '.join(reader.parts).split()), reader.marks

    def values(self, record):
        """Named values that the page shows, longest first."""
        found = []
        for name, value in record.items():
            value = value[0] if isinstance(value, list) and value else value
            if isinstance(value, str) and value.strip() and not name.endswith(('href', 'src')):
                found.append((name, ' '.join(value.split())))
        return sorted(found, key=lambda it: -len(it[1]))

    def telling(self, record):
        """A text of this record that stands once on the page; without one, its longest."""
        shown = [v for _, v in self.values(record) if v in self.text]
        once = [v for v in shown if self.text.count(v) == 1 and len(v) <= 120]
        return (once or shown or [None])[0]

    def dragged(self, record):
        """The text from the record's first value to its last, as a mouse would mark it."""
        telling = self.telling(record)
        if telling is None:
            return None
        at = self.text.index(telling)
        start, stop = at, at + len(telling)
        for _, value in self.values(record):
            places = [m.start() for m in re.finditer(re.escape(value), self.text)][:500]
            near = min(places, key=lambda p: abs(p - at), default=None)
            if near is not None and abs(near - at) <= 3000:
                start, stop = min(start, near), max(stop, near + len(value))
        return self.text[start:stop]

    def selectors(self):
        """tag.class that stands as often as there are records."""
        n = len(self.truth)
        fitting = [(abs(count - n), mark) for mark, count in self.marks.items() if abs(count - n) <= 0.02 * n]
        return [mark for _, mark in sorted(fitting)][:12]


def flags(name, values):
    return [word for value in values if value for word in ('--' + name, value)]


def labels(page, records):
    return [w for r in records for name, value in page.values(r) if value in page.text for w in ('--label', '%s=%s' % (name, value))]


def steps():
    one = ['--widen', '--widen=next', '--widen=previous', '--narrow', '--narrow=first', '--narrow=last', '--rotate', '--rotate=back']
    return [[s] for s in one] + [['--widen', '--widen'], ['--narrow', '--narrow'], ['--rotate', '--rotate']]


def kinds(page):
    """name -> the attempts of a person; the first that is right counts."""
    two = page.truth[:2]
    rich = max(range(min(5, len(page.truth))), key=lambda i: len(page.values(page.truth[i])))
    pair = [page.truth[rich]] + page.truth[rich + 1:rich + 2]
    last = page.truth[-1:]
    touch = [s + ['--pick', str(k), '-o', os.devnull] for k in range(1, 6) for s in steps()]
    return {
        'one record clicked': [flags('record', map(page.telling, two[:1]))],
        'two records clicked': [flags('record', map(page.telling, two))],
        'first and last record clicked': [flags('record', map(page.telling, two[:1] + last))],
        'one block enclosed (its whole text)': [flags('enclose', map(page.dragged, two[:1]))],
        'one block enclosed, four values of θ tried': [flags('enclose', map(page.dragged, two[:1])) + ['--theta', t] for t in ('0.5', '0.3', '0.4', '0.7')],
        'two blocks enclosed': [flags('enclose', map(page.dragged, two))],
        'all values of one record labelled': [labels(page, pair[:1])],
        'all values of two records labelled': [labels(page, pair)],
        'one of five widened, narrowed or rotated': touch,
        'rows by CSS (tag and class)': [['--row-css', s] for s in page.selectors()],
    }


CHEAP = ['one record clicked', 'two records clicked', 'first and last record clicked', 'one block enclosed (its whole text)',
         'two blocks enclosed', 'all values of one record labelled', 'all values of two records labelled']


def judged(pieme, page, words):
    """(first right, right among five); `--pick K` makes candidate K the first."""
    code, out, _, _ = call([pieme, 'learn', page.path, '--json'] + words)
    found = (out or {}).get('candidates', []) if isinstance(out, dict) else []
    right = [rows_right(c['records'], page.truth)[1] for c in found[:5]]
    pick = int(words[words.index('--pick') + 1]) - 1 if '--pick' in words else 0
    return pick < len(right) and right[pick], any(right)


def one(pieme, job, missed_only):
    where, name, path, truth = job
    page = Page(path, truth)
    first, five = judged(pieme, page, [])
    result = {'where': where, 'name': name, 'first': first, 'five': five, 'kinds': {}}
    for kind, attempts in kinds(page).items():
        attempts = [words for words in attempts if words]
        if first and (missed_only or kind not in CHEAP):
            continue
        best = [False, False]
        for words in attempts:
            got = judged(pieme, page, words)
            best = [best[0] or got[0], best[1] or got[1]]
            if best[0]:
                break
        result['kinds'][kind] = best
    return result


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('pieme')
    p.add_argument('--missed-only', action='store_true')
    p.add_argument('--only', default='')
    p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--json')
    a = p.parse_args()
    jobs = [j for j in [*corpus_pages(), *drift_pages()] if a.only in j[1]]
    with cf.ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda j: one(a.pieme, j, a.missed_only), jobs))
    if a.json:
        json.dump(results, open(a.json, 'w'), indent=1)
    for where in ('corpus', 'drift'):
        mine = [r for r in results if r['where'] == where]
        missed = [r for r in mine if not r['first']]
        print('%s: %d pages, first right %d, among five %d; missed: %s' % (
            where, len(mine), sum(r['first'] for r in mine), sum(r['five'] for r in mine), '; '.join(r['name'] for r in missed)))
        print('| help | of the %d missed: first / among five | right lists lost |\n|---|---|---|' % len(missed))
        print('| choose among five | – / %d | – |' % sum(r['five'] for r in missed))
        for kind in next((r['kinds'] for r in missed), {}):
            got = [r['kinds'][kind] for r in missed]
            kept = [r['kinds'][kind][0] for r in mine if r['first'] and kind in r['kinds']]
            lost = '–' if not kept else '%d of %d' % (kept.count(False), len(kept))
            print('| %s | %d / %d | %s |' % (kind, sum(g[0] for g in got), sum(g[1] for g in got), lost))
        every = [any(k[0] for k in r['kinds'].values()) or r['five'] for r in missed]
        print('| any of these | %d | |\n' % sum(every))


if __name__ == '__main__':
    main()
