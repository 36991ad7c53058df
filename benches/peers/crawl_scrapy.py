"""The same crawl with Scrapy, eight requests at a time. Prints the number of rows.

usage: python crawl_scrapy.py PORT
"""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess

PORT = sys.argv[1]
PAGES = 4200
found = 0


class Products(scrapy.Spider):
    name = "products"

    async def start(self):
        for number in range(1, PAGES + 1):
            yield scrapy.Request(f"http://127.0.0.1:{PORT}/list?page={number}")

    def parse(self, response):
        global found
        for row in response.css("li.product"):
            found += 1
            yield {
                "name": row.css("h3 a::text").get(),
                "link": row.css("h3 a::attr(href)").get(),
                "price": row.css(".price::text").get(),
                "stock": row.css(".stock::text").get(),
                "text": row.css(".text::text").get(),
            }


process = CrawlerProcess(
    {"LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, "DOWNLOAD_DELAY": 0, "ROBOTSTXT_OBEY": False}
)
process.crawl(Products)
process.start()
print(found)
