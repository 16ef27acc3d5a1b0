import { ApiError } from './api.js';
import { h } from './dom.js';

const HIDDEN = '[redacted]';
/** The key of the operator's name in the browser's storage. */
const NAME = 'saga-admin-operator';

/** Creates a text field. */
export function field(name, label, { required = false, value = '', line = false } = {}) {
  const input = h(line ? 'input' : 'textarea', {
    name,
    required,
    maxlength: line ? 200 : 4_000,
    rows: line ? undefined : 2,
    autocomplete: 'off',
  });
  input.value = value;
  return h('label.field', h('span', label, !required && h('small', ' optional')), input);
}

/**
 * Creates a selection.
 * @param {string} name
 * @param {string} label
 * @param {readonly (string | readonly string[])[]} options values, or pairs of a value and its text
 */
export function pickField(name, label, options = []) {
  return h(
    'label.field',
    h('span', label),
    h(
      'select',
      { name },
      ...options
        .map((option) => [option].flat())
        .map(([value, text = value]) => h('option', { value }, text)),
    ),
  );
}

/**
 * Creates a JSON field.
 * @param {string} name
 * @param {string} label
 * @param {unknown} value
 * @param {boolean} folded is closed at first and contains the current value
 */
export function jsonField(name, label, value = undefined, folded = false) {
  const text = value === undefined ? '' : JSON.stringify(value, undefined, 2);
  const input = h('textarea.mono', { name, rows: 6, spellcheck: 'false', disabled: folded });
  input.value = text;
  const area = h('label.field', h('span', label), input);
  if (!folded) return area;
  return h(
    'details.folded',
    { ontoggle: ({ target }) => (input.disabled = !target.open) },
    h('summary', label),
    text.includes(HIDDEN) && h('p.notice', `Fields that say ${HIDDEN} keep their stored values.`),
    area,
  );
}

/** @throws ApiError if the text is not JSON */
export function readJson(name, text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, 'JSON', `${name} is not JSON: ${error.message}`);
  }
}

/** Creates the field for the operator's name, if the application does not identify the operator. */
export function operatorField({ operator }, required = false) {
  if (operator !== undefined) return undefined;
  return field('by', 'Your name', { required, value: localStorage.getItem(NAME) ?? '', line: true });
}

export function rememberOperator(by) {
  if (by?.trim()) localStorage.setItem(NAME, by.trim());
}
