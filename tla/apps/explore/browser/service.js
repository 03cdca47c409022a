// The service worker of the page without a server: it keeps the files of the folder, so that the page opens again at once, and without a network.
"use strict";

const NAME = `tla ${"VERSION"}`, KEPT = ["FILES"];

self.addEventListener("install", event => {
  event.waitUntil(caches.open(NAME).then(cache => cache.addAll(KEPT.map(name => new Request(name, { cache: "reload" })))).then(() => self.skipWaiting()));
});

self.addEventListener("activate", event => {
  const old = names => names.filter(name => name.startsWith("tla ") && name !== NAME).map(name => caches.delete(name));
  event.waitUntil(caches.keys().then(names => Promise.all(old(names))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", event => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || !url.href.startsWith(self.registration.scope)) return;
  event.respondWith(caches.open(NAME).then(cache => cache.match(event.request, { ignoreSearch: true })).then(found => found ?? fetch(event.request)));
});
