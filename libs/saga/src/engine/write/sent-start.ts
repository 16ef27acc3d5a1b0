import type { Parts } from '../../shared/parts.js';
import type { NewSaga } from '../ports/stored-saga.js';

/** A saga as it is sent to be stored for the first time. A class, since it lives long: see NOTHING. */
export class SentStart implements Parts<NewSaga> {
  readonly id: NewSaga['id'];
  readonly fresh: NewSaga['fresh'];
  readonly name: NewSaga['name'];
  readonly version: NewSaga['version'];
  readonly correlationId: NewSaga['correlationId'];
  readonly input: NewSaga['input'];
  readonly priority: NewSaga['priority'];
  readonly tags: NewSaga['tags'];
  readonly delay: NewSaga['delay'];
  readonly startAt: NewSaga['startAt'];
  readonly timeout: NewSaga['timeout'];
  readonly sla: NewSaga['sla'];
  readonly step: NewSaga['step'];
  readonly lockKey: NewSaga['lockKey'];
  readonly lockRejects: NewSaga['lockRejects'];
  readonly limitKey: NewSaga['limitKey'];

  constructor(
    saga: Omit<NewSaga, 'leased'>,
    readonly leased: boolean,
  ) {
    this.id = saga.id;
    this.fresh = saga.fresh;
    this.name = saga.name;
    this.version = saga.version;
    this.correlationId = saga.correlationId;
    this.input = saga.input;
    this.priority = saga.priority;
    this.tags = saga.tags;
    this.delay = saga.delay;
    this.startAt = saga.startAt;
    this.timeout = saga.timeout;
    this.sla = saga.sla;
    this.step = saga.step;
    this.lockKey = saga.lockKey;
    this.lockRejects = saga.lockRejects;
    this.limitKey = saga.limitKey;
  }
}
