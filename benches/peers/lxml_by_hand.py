#!/usr/bin/env python3
"""lxml_by_hand.py [--compiled] [--check]    what hand-written extraction costs, in processor time

One small function a site, as a person would write it with lxml: parse the bytes, find the rows, read each field by XPath.
Prints a line a page: name, processor milliseconds of one go, records. `--check` compares the records with truth.json instead.
`--compiled` keeps compiled XPaths over all goes; without it each call compiles its expression, as scrapers' code does.
The corpus is found by PIEME_CORPUS (default ../shared).
"""
import functools
import json
import os
import sys
import time

import lxml.html
from lxml import etree

ROUNDS, LEAST_S = 5, 0.04
CORPUS = os.path.join(os.environ.get('PIEME_CORPUS', '../shared'), 'corpus')
COMPILED = '--compiled' in sys.argv


@functools.lru_cache(maxsize=None)
def compiled(path):
    return etree.XPath(path)


def every(node, path):
    return compiled(path)(node) if COMPILED else node.xpath(path)


def first(node, path):
    found = every(node, path)
    return found[0].strip() if found else None


def text(node, path):
    """The whole text of the first element, white space collapsed."""
    found = every(node, path)
    return ' '.join(found[0].text_content().split()) if found else None


def after(value, label):
    return value.split(label, 1)[1].strip() if value and label in value else value


def books(doc):
    for row in every(doc, '//article[@class="product_pod"]'):
        yield {
            'title': first(row, './h3/a/@title'),
            'href': first(row, './h3/a/@href'),
            'price': first(row, './/p[@class="price_color"]/text()'),
            'availability': text(row, './/p[contains(@class, "availability")]'),
            'rating_class': first(row, './p[contains(@class, "star-rating")]/@class'),
            'image_src': first(row, './/img/@src'),
        }


def quotes(doc):
    for row in every(doc, '//div[@class="quote"]'):
        yield {
            'text': first(row, './span[@class="text"]/text()'),
            'author': first(row, './/small[@class="author"]/text()'),
            'author_href': first(row, './span/a/@href'),
            'tags': ', '.join(every(row, './/a[@class="tag"]/text()')),
        }


def quotes_table(doc):
    for row in every(doc, '//table//tr[contains(td, "Author:")]'):
        said, author = text(row, './td').split(' Author: ')
        tags = every(row, './following-sibling::tr[1]//a/text()')
        yield {'text': said, 'author': author, 'tags': ', '.join(tags)}


def opendir(doc):
    for row in every(doc, '//table[@width="510"][.//a[@class="OD_poster"]]'):
        yield {
            'title': text(row, './/a[@class="OD_Title"]'),
            'title_href': first(row, './/a[@class="OD_Title"]/@href'),
            'posted': first(row, './/font[@color="#740002"]/text()'),
            'author': text(row, './/a[@class="OD_poster"]'),
            'link_href': first(row, './/a[text()="[Link]"]/@href'),
            'comments': text(row, './/a[starts-with(text(), "Comments")]').strip('Comments []'),
        }


def google(doc):
    for row in every(doc, '//div[@class="rc"]'):
        yield {
            'title': text(row, './/h3'),
            'href': first(row, './div[@class="r"]/a/@href'),
            'cite': text(row, './/cite'),
            'snippet': text(row, './/span[@class="st"]'),
        }


def csfd(doc):
    for row in every(doc, '//ul[contains(@class, "ui-posts-list")]/li[starts-with(@id, "comment-")]'):
        yield {
            'author': text(row, './h5/a'),
            'author_href': first(row, './h5/a/@href'),
            'rating_src': first(row, './img[@class="rating"]/@src'),
            'text': first(row, './p[@class="post"]/text()'),
            'date': (first(row, './/span[contains(@class, "date")]/text()') or '').strip('()'),
        }


def piratebay(doc):
    for row in every(doc, '//tr[td[@class="vertTh"]]'):
        yield {
            'category': text(row, './td[1]'),
            'name': text(row, './td[2]/a'),
            'name_href': first(row, './td[2]/a/@href'),
            'uploaded': text(row, './td[3]'),
            'magnet_href': first(row, './td[4]//a[starts-with(@href, "magnet")]/@href'),
            'size': text(row, './td[5]'),
            'seeders': text(row, './td[6]'),
            'leechers': text(row, './td[7]'),
        }


def github(doc):
    for row in every(doc, '//article[contains(@class, "border-bottom")]'):
        yield {
            'owner': text(row, './/h3//span').rstrip(' /'),
            'repo': every(row, './/h3/a/text()')[-1].strip(),
            'href': first(row, './/h3/a/@href'),
            'stars': text(row, './/a[contains(@href, "/stargazers")]'),
            'description': text(row, './div[contains(@class, "ws-normal")]'),
            'language': text(row, './/*[@itemprop="programmingLanguage"]'),
            'updated': text(row, './/relative-time'),
        }


def isbn(doc):
    for row in every(doc, '//tr[td/p[@class="rsinfo"]]'):
        title = every(row, './preceding-sibling::tr[1]')[0]
        yield {
            'number': (text(title, './td[1]') or '').rstrip('.'),
            'title': text(title, './/a'),
            'title_href': first(title, './/a/@href'),
            'authors': after(text(row, './/p[@class="rsinfo"]'), 'by ').split(' Editions:')[0],
            'editions': after(text(row, './/p[@class="rsinfo"]'), 'Editions:'),
            'image_src': first(row, './/img/@src'),
        }


def daft(doc):
    for row in every(doc, '//div[@class="box"][.//span[@class="sr_counter"]]'):
        yield {
            'number': text(row, './/span[@class="sr_counter"]').rstrip('. '),
            'title': text(row, './/h2/a'),
            'title_href': first(row, './/h2/a/@href'),
            'price': text(row, './/strong[@class="price"]'),
            'type': first(row, './/ul[@class="info"]/li[1]/text()'),
            'beds': first(row, './/ul[@class="info"]/li[2]/text()'),
            'baths': first(row, './/ul[@class="info"]/li[3]/text()'),
            'description': text(row, './/div[@class="text-block"]/p'),
            'agent': text(row, './/ul[@class="links"]/li[contains(., "Agent")]/a'),
            'image_src': first(row, './/img[@class="main_photo"]/@src'),
        }


def finn(doc):
    for row in every(doc, '//article[contains(@class, "mobility-search-ad-card")]'):
        places = every(row, './/span[@class="truncate"]/text()')
        yield {
            'title': text(row, './/h2/a'),
            'href': first(row, './/h2/a/@href'),
            'facts': text(row, './/span[contains(@class, "text-caption")]'),
            'price': first(row, './/span[contains(@class, "t3")]/text()'),
            'place': places[0] if places else None,
            'seller': places[1] if len(places) > 1 else None,
            'image_src': first(row, './/img/@src'),
        }


def tn_courts(doc):
    for row in every(doc, '//table[contains(@class, "views-table")]/tbody/tr'):
        yield {
            'title': text(row, './td[1]/a'),
            'title_href': first(row, './td[1]/a/@href'),
            'case_number': text(row, './/div[@class="case-number"]'),
            'judge': after(text(row, './/div[starts-with(text(), "Authoring Judge:")]'), ':'),
            'trial_judge': after(text(row, './/div[starts-with(text(), "Trial Court Judge:")]'), ':'),
            'summary': text(row, './/div[@class="case-body"]'),
            'county': text(row, './td[2]'),
            'court': text(row, './td[3]'),
            'date': text(row, './td[4]'),
        }


def hltb(doc):
    for row in every(doc, '//li[contains(@class, "back_dark")]'):
        times = every(row, './/div[contains(@class, "center")]/text()')
        yield {
            'title': text(row, './/h3/a'),
            'title_href': first(row, './/h3/a/@href'),
            'main': times[0].strip() if times else None,
            'main_extra': times[1].strip() if len(times) > 1 else None,
            'completionist': times[2].strip() if len(times) > 2 else None,
            'image_src': first(row, './/img/@src'),
        }


def uefa(doc):
    for row in every(doc, '//a[contains(@href, "PlayerDetail.asp")]'):
        yield {'name': text(row, '.'), 'name_href': first(row, './@href')}


def jacksonville(doc):
    for row in every(doc, '//div[@class="listing-item"]'):
        yield {
            'date': first(row, './p[@class="item_when"]/text()'),
            'weekday': text(row, './/span[@class="light_content_text"]'),
            'time': text(row, './/time'),
            'title': text(row, './/p[@class="item_what"]/a'),
            'title_href': first(row, './/p[@class="item_what"]/a/@href'),
            'venue': text(row, './/p[@class="item_where"]/a'),
            'venue_href': first(row, './/p[@class="item_where"]/a/@href'),
            'action': text(row, './/p[@class="item_how"]//a'),
            'action_href': first(row, './/p[@class="item_how"]//a/@href'),
        }


def acm(doc):
    for title in every(doc, '//div[@class="googlesa"]//dl/dt'):
        row = title.getnext()
        yield {
            'title': text(title, './a'),
            'title_href': first(title, './a/@href'),
            'snippet': text(row, './div[1]'),
            'url': text(row, './/span[@class="gsa_url"]'),
        }


def papershop(doc):
    for row in every(doc, '//div[@class="category-product-image"]'):
        yield {
            'name': text(row, './a[@class="product-image-link"]'),
            'href': first(row, './a[@class="product-image-link"]/@href'),
            'code': after(text(row, './p[@class="grid-product-code"]'), ':'),
            'price': text(row, './p[@class="grid-product-price"]/span'),
            'case_quantity': after(text(row, './p[@class="grid-case-info"]'), ':'),
            'image_src': first(row, './/img/@src'),
        }


SITES = {
    'acm-search-dl': acm,
    'books-toscrape-list-detail': books,
    'csfd-comments-cs-large': csfd,
    'daft-houses-ie': daft,
    'exalg-uefa-squad': uefa,
    'finn-mobility-tailwind': finn,
    'github-topics-2019': github,
    'google-coffee-100': google,
    'hltb-search': hltb,
    'isbnnu-2005': isbn,
    'jacksonville-events': jacksonville,
    'mypapershop': papershop,
    'pcbheaven-opendir': opendir,
    'piratebay-2024': piratebay,
    'quotes-tableful': quotes_table,
    'quotes-toscrape-list-detail': quotes,
    'tn-courts-redesign': tn_courts,
}


def page(site):
    with open(os.path.join(CORPUS, site, 'page.html'), 'rb') as file:
        return file.read()


def least(work):
    """Processor milliseconds of one go: the least of several rounds."""
    best = float('inf')
    for _ in range(ROUNDS):
        start, goes = time.process_time(), 0
        while goes == 0 or time.process_time() - start < LEAST_S:
            work()
            goes += 1
        best = min(best, (time.process_time() - start) * 1000 / goes)
    return best


def squash(value):
    return ''.join(str(value).split()).lower()


def check(site, records):
    with open(os.path.join(CORPUS, site, 'truth.json'), encoding='utf-8') as file:
        truth = json.load(file)['main_list']
    same = total = 0
    for field in truth['fields']:
        for record, value in zip(records, field['values']):
            if field['name'] in record and value is not None:
                total += 1
                same += squash(record[field['name']]) == squash(value)
    print('%-34s %5d records, true %5d; %d of %d values as in truth.json'
          % (site, len(records), truth['n_records'], same, total))


def main():
    if not os.path.isdir(CORPUS):
        sys.exit('no corpus at %s: set PIEME_CORPUS' % CORPUS)
    for site, extract in SITES.items():
        source = page(site)
        # Some pages declare no charset; a person would look, and say so.
        try:
            source.decode('utf-8')
            parser = lxml.html.HTMLParser(encoding='utf-8')
        except UnicodeDecodeError:
            parser = lxml.html.HTMLParser()
        go = lambda: list(extract(lxml.html.document_fromstring(source, parser=parser)))
        if '--check' in sys.argv:
            check(site, go())
        else:
            print(site, '%.4f' % least(go), len(go()), flush=True)


if __name__ == '__main__':
    main()
