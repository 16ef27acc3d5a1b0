import { h } from './dom.js';

/**
 * The button that opens the dialog of an action.
 * @param {string} action
 * @param {string} label
 * @param {string} about what the action concerns, for screen readers
 * @param {() => void} open
 */
export function actionButton(action, label, about, open) {
  return h(
    'button',
    {
      type: 'button',
      'data-action': action,
      'aria-label': `${label.replace('…', '')}: ${about}`,
      onclick: open,
    },
    label,
  );
}
