"""Where a crawl begins: lists of URLs, of hosts, of sites with settings of their own."""
