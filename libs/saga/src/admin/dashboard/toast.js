import { byId, h } from './dom.js';

/** Says something in passing. */
export function toast(text) {
  const note = h('p.toast', text);
  byId('toasts').append(note);
  setTimeout(() => note.remove(), 6_000);
}
