import type { Type } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import type { HandledRequest } from './handled-request.js';
import { insertFirst } from './insert-first.js';

/**
 * The idempotent receiver: the work, its answer and the key of the request are stored in one transaction. The same
 * key again gets the first one's answer, and nothing is done. If the work throws, the key is free again.
 *
 * @param log the participant's own table of handled requests
 */
export function handleOnce<Answer extends object>(
  dataSource: DataSource,
  log: Type<HandledRequest>,
  idempotencyKey: string,
  work: (manager: EntityManager) => Promise<Answer>,
): Promise<Answer> {
  return dataSource.transaction(async (manager) => {
    if (!(await insertFirst(manager, log, { idempotencyKey }))) {
      return (await manager.findOneByOrFail(log, { idempotencyKey })).answer as Answer;
    }
    const answer = await work(manager);
    await manager.update(log, { idempotencyKey }, { answer });
    return answer;
  });
}
