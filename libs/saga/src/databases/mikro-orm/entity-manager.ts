/** The part of MikroORM's connection that is used here. */
interface Connection {
  /** MikroORM 6. */
  getKnex?(): unknown;
  execute(text: string, parameters: unknown[], method: 'get', transaction: object): Promise<unknown>;
}

/** The part of MikroORM's EntityManager that is used here. */
export interface EntityManagerParts {
  readonly config: { get(option: string): unknown };
  fork(options: { disableContextResolution: boolean }): EntityManagerParts;
  transactional<T>(work: (em: EntityManagerParts) => Promise<T>): Promise<T>;
  isInTransaction(): boolean;
  getTransactionContext(): object | undefined;
  getConnection(): Connection;
  flush(): Promise<void>;
}

/** Returns an EntityManager, or that of a MikroORM. By what it has: there may be several copies of MikroORM. */
export function asEntityManager(given: unknown): EntityManagerParts | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const em: unknown = 'getTransactionContext' in given ? given : (given as { readonly em?: unknown }).em;
  const has = (name: string) => typeof (em as Record<string, unknown>)[name] === 'function';
  if (typeof em !== 'object' || em === null) return undefined;
  return ['fork', 'transactional', 'getTransactionContext', 'getConnection'].every(has)
    ? (em as EntityManagerParts)
    : undefined;
}
