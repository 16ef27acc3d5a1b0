import { h } from './dom.js';

/** Longer texts are opened on demand. */
const SHORT = 400;
/** More would take the browser long to lay out. */
const MOST = 100_000;

/** A payload: pretty, and folded if it is long. @param key tells it from others, so that it stays open */
export function jsonView(key, label, value) {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value, undefined, 2);
  const shown = text.length > MOST ? `${text.slice(0, MOST)}\n… ${text.length - MOST} more characters` : text;
  return h(
    'details.json',
    { 'data-key': key, open: text.length <= SHORT },
    h('summary', label, h('small', ` ${summaryOf(value)}`)),
    h('pre', { tabindex: 0 }, shown),
  );
}

function summaryOf(value) {
  if (Array.isArray(value)) return `${value.length} items`;
  if (value && typeof value === 'object') return `${Object.keys(value).length} fields`;
  return typeof value;
}
