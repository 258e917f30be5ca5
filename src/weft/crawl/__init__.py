"""The program: what happens to a page, from its lease to its place in the store.

1. ``loop`` takes leases from the frontier and has them asked, by ``local`` in this process or by ``weft.workers``.
2. ``pipeline`` processes each answer: ``reading`` reads the page, ``conclude`` says what the answer means, the archive
   keeps it. The same in every process.
3. ``learning`` draws what follows for the crawl: about the site, the scope, cookies; ``site_requests`` reads robots.txt
   and sitemaps.
4. ``tick`` stores all that came, in one transaction, and admits the links.
5. Observers (``events``) are told: ``logs``, screens, readers from Python.
6. ``housekeeping`` looks outside: memory, stop files, more seeds.

``opening`` opens a folder before all that and leaves it afterwards; ``build`` wires the parts, and is the only module
that sees all of them.
"""
