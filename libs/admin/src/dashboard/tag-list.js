import { h } from './dom.js';

/** Belongs to the trace of a saga, and says nothing to a reader of a list. */
const TRACE_TAG = 'traceparent';

/** Shows the tags of a saga in a list. */
export function tagList(tags) {
  return Object.entries(tags)
    .filter(([key]) => key !== TRACE_TAG)
    .map(([key, value]) => h('span.tag', `${key}:${value}`));
}
