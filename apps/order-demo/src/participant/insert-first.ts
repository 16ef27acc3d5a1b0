import type { Type } from '@nestjs/common';
import type { EntityManager, ObjectLiteral, QueryDeepPartialEntity } from 'typeorm';

/**
 * Inserts a row unless its key is taken. Two transactions at the same time: the second waits here for the first, and
 * sees its row once it has committed.
 *
 * @returns false: there is one already
 */
export async function insertFirst<Row extends ObjectLiteral>(
  manager: EntityManager,
  table: Type<Row>,
  row: QueryDeepPartialEntity<Row>,
): Promise<boolean> {
  const insert = manager.createQueryBuilder().insert().into(table).values(row).orIgnore().returning('*');
  const inserted = await insert.execute();
  return (inserted.raw as unknown[]).length > 0;
}
