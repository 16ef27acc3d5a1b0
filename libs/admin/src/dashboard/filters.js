import { h } from './dom.js';
import { sagaName } from './format.js';

/**
 * The filters of a page, which stand in its address.
 * @param {string} page the part of the address before them
 * @param {string[]} names
 * @param {URLSearchParams} query those that the address has
 * @param {() => void} changed is called when one was changed
 */
export function filters(page, names, query, changed) {
  /** @type {Record<string, any>} */
  const values = Object.fromEntries(names.map((name) => [name, query.get(name) ?? '']));
  const change = (name, value) => {
    values[name] = value;
    const used = String(new URLSearchParams(Object.entries(values).filter(([, set]) => set !== '')));
    history.replaceState(null, '', `#/${page}${used && `?${used}`}`);
    changed();
  };
  return {
    values,
    /** The input for a text. */
    text: (name, placeholder, more = {}) =>
      h('input', {
        ...{ name, placeholder, value: values[name], autocomplete: 'off', spellcheck: 'false' },
        oninput: later(({ target }) => change(name, target.value.trim())),
        ...more,
      }),
    /** @param {[string, string][]} options pairs of a value and its text */
    select: (name, options) =>
      h(
        'select',
        { name, onchange: ({ target }) => change(name, target.value) },
        ...options.map(([value, text]) => h('option', { value, selected: values[name] === value }, text)),
      ),
  };
}

/**
 * The form of the filters.
 * @param {Record<string, Node | Node[]>} controls by their labels
 */
export function filterBar(controls) {
  return h(
    'form.filters',
    { role: 'search', onsubmit: (event) => event.preventDefault() },
    ...Object.entries(controls).map(([label, control]) => h('label', h('span', label), control)),
  );
}

/** The options of a selection among the sagas of the application. */
export function sagaOptions({ sagas }, none = 'all') {
  return [['', none], ...sagas.map((name) => [name, sagaName(name)])];
}

/** The tags of a text such as `tenant:acme, country:fr`. None while it is not complete. */
export function tagsIn(text) {
  return text.includes(':') ? text.split(/[ ,]+/) : [];
}

/** Delays a call until the user stops typing. */
function later(act) {
  let timer;
  return (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(event), 250);
  };
}
