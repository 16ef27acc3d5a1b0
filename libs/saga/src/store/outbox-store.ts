import type { PostgresInbox } from './postgres/outbox/postgres-inbox.js';
import type { PostgresOutbox } from './postgres/outbox/postgres-outbox.js';

/** What relays and those who publish need of an outbox. PostgreSQL's and the model of it pass one contract suite. */
export type OutboxStore = Pick<
  PostgresOutbox,
  | 'publish'
  | 'take'
  | 'lanesOf'
  | 'settle'
  | 'renew'
  | 'dead'
  | 'requeue'
  | 'discard'
  | 'isOutage'
  | 'isTransient'
>;

/** What handlers need of an inbox. */
export type InboxStore = Pick<PostgresInbox, 'isNew'>;
