import { post } from './api.js';
import { openDialog } from './dialog.js';
import { rememberOperator } from './fields.js';

/**
 * Asks the operator to confirm an action, and posts what the fields have.
 * @param {{ kind: string, title: string, about: string, text: string, label: string }} action
 * @param {string} path below the API, of the action
 * @param fields
 * @param {() => void} done
 */
export function confirmDialog({ label, ...dialog }, path, fields, done) {
  const submit = label.replace('…', '');
  openDialog(
    { ...dialog, submit },
    fields,
    async (form) => {
      const given = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
      const body = Object.fromEntries(given.filter(([, value]) => value !== ''));
      rememberOperator(body.by);
      await post(path, body);
      return `${submit}: done.`;
    },
    done,
  );
}
