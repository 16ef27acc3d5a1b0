import { h } from './dom.js';

/** Shows an error of a request. */
export function problem(error) {
  const what = {
    401: 'You are not logged in',
    403: 'You are not authorized',
    404: 'Not found',
    409: 'The state of the saga does not allow this',
    503: 'The database cannot be reached',
  };
  return h(
    'div.notice.bad',
    { role: 'alert' },
    h(
      'strong',
      what[error.status] ?? (error.status === 0 ? 'The application cannot be reached' : 'The request failed'),
    ),
    h('p', error.message),
  );
}
