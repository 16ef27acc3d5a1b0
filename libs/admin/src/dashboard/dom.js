/** Elements made manually: what comes from sagas is only ever text, never markup. */
const SVG = 'http://www.w3.org/2000/svg';

/** The element of the page that has this id. @returns {any} */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Makes an element: `h('td.number', count)`, `h('a.mono', { href }, text)`.
 * @returns {any} an element, whose properties depend on its tag
 * @param {string} tag with its classes, each behind a dot
 * @param given an object of attributes, which may be left out, and the children. `onclick` and the like are listeners. What
 * is undefined, null or false is left out
 */
export function h(tag, ...given) {
  return filled((name) => document.createElement(name), tag, given);
}

/** @param {string} tag */
export function svg(tag, ...given) {
  return filled((name) => document.createElementNS(SVG, name), tag, given);
}

function filled(make, tag, given) {
  const [name, ...classes] = tag.split('.');
  const element = make(name);
  if (classes.length > 0) element.setAttribute('class', classes.join(' '));
  const hasProps = given[0]?.constructor === Object;
  for (const [name, value] of Object.entries(hasProps ? given[0] : {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...nodes(hasProps ? given.slice(1) : given));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== undefined && child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/**
 * New content in the place of the old: what was opened stays open, and what had the focus has it again, each known by
 * its `data-key`.
 */
export function swap(container, ...children) {
  const focused = container.contains(document.activeElement) ? focusedKey() : undefined;
  const toggled = new Map(
    [...container.querySelectorAll('details[data-key]')].map(({ dataset, open }) => [dataset.key, open]),
  );
  container.replaceChildren(...nodes(children));
  for (const details of container.querySelectorAll('details[data-key]'))
    if (toggled.has(details.dataset.key)) details.open = toggled.get(details.dataset.key);
  if (focused === undefined) return;
  [...container.querySelectorAll('[data-key]')]
    .find(({ dataset }) => dataset.key === focused)
    ?.focus({ preventScroll: true });
}

/** The `data-key` of what has the focus, or of what contains it. */
export function focusedKey() {
  /** @type {HTMLElement | null | undefined} */
  const keyed = document.activeElement?.closest('[data-key]');
  return keyed?.dataset.key;
}

/** Gives the focus to what has this `data-key`. */
export function focusKey(key, options = undefined) {
  /** @type {NodeListOf<HTMLElement>} */
  const all = document.querySelectorAll('[data-key]');
  [...all].find(({ dataset }) => dataset.key === key)?.focus(options);
}
