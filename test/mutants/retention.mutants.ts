import { type Mutant, specs } from './mutant.js';

const killers = [specs('retention')];

export const RETENTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'delete sagas before those that started them',
    find: 'WHERE i.name = $1 AND i.parent_id IS NULL AND',
    replace: 'WHERE i.name = $1 AND',
    killers,
  },
  {
    name: 'delete a family of which one has not ended',
    find: 'WHERE w.top <> ALL(kept)',
    replace: 'WHERE w.id = ANY(free)',
    killers,
  },
  {
    name: 'leave what belongs to deleted sagas',
    find: "operation: { sagaId: 'saga_id', removedBy: 'deletion'",
    replace: "operation: { sagaId: 'saga_id', removedBy: 'time'",
    killers,
  },
  {
    name: 'let several processes delete at once',
    find: 'IF $7 AND NOT',
    replace: 'IF false AND NOT',
    killers,
  },
  {
    name: 'take the retention of a lower version',
    find: 'return sagas.map(({ graph }) => graph).sort((a, b) => a.version - b.version);',
    replace: 'return sagas.map(({ graph }) => graph).sort((a, b) => b.version - a.version);',
    killers,
  },
];
