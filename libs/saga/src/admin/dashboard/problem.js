import { h } from './dom.js';

/** What went wrong, for people. */
export function problem(error) {
  const what = {
    401: 'You are not logged in',
    403: 'You may not see this',
    404: 'There is nothing here',
    409: 'This cannot be done right now',
    503: 'The database does not answer',
  };
  return h(
    'div',
    { class: 'notice bad', role: 'alert' },
    h('strong', {}, what[error.status] ?? (error.status === 0 ? 'Out of reach' : 'That did not work')),
    h('p', {}, error.message),
  );
}
