import { ApiError } from './api.js';
import { h } from './dom.js';

const HIDDEN = '[redacted]';
/** Where the browser keeps who acts, if the application cannot tell. */
const NAME = 'saga-admin-operator';

/** A text to give. */
export function field(name, label, { required = false, value = '', line = false } = {}) {
  const input = h(line ? 'input' : 'textarea', {
    name,
    required,
    maxlength: line ? 200 : 4_000,
    rows: line ? undefined : 2,
    autocomplete: 'off',
  });
  input.value = value;
  return h(
    'label',
    { class: 'field' },
    h('span', {}, label, !required && h('small', {}, ' optional')),
    input,
  );
}

/** One of several. @param options values, or pairs of a value and its text */
export function pickField(name, label, options = []) {
  return h(
    'label',
    { class: 'field' },
    h('span', {}, label),
    h(
      'select',
      { name },
      options.map((option) => [option].flat()).map(([value, text = value]) => h('option', { value }, text)),
    ),
  );
}

/** JSON to give. @param folded it is rarely needed, and begins with the value that there is */
export function jsonField(name, label, value, folded = false) {
  const text = value === undefined ? '' : JSON.stringify(value, undefined, 2);
  // What was redacted would be stored as such.
  const isWhole = !text.includes(HIDDEN);
  const input = h('textarea', { name, rows: 6, class: 'mono', spellcheck: 'false', disabled: folded });
  input.value = isWhole ? text : '';
  const area = h('label', { class: 'field' }, h('span', {}, label), input);
  if (!folded) return area;
  return h(
    'details',
    { class: 'folded', ontoggle: ({ target }) => (input.disabled = !target.open) },
    h('summary', {}, label),
    !isWhole && h('p', { class: 'notice' }, 'Some fields of the input are redacted. Give the whole input.'),
    area,
  );
}

/** @throws ApiError when it is no JSON */
export function readJson(name, text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, 'JSON', `${name} is not JSON: ${error.message}`);
  }
}

/** Who acts, where the application cannot tell. */
export function operatorField({ operator }, required = false) {
  if (operator !== undefined) return undefined;
  return field('by', 'Your name', { required, value: localStorage.getItem(NAME) ?? '', line: true });
}

export function rememberOperator(by) {
  if (by?.trim()) localStorage.setItem(NAME, by.trim());
}
