/** What a driver adapter says of an error of PostgreSQL. */
interface AdapterError {
  readonly cause?: { readonly originalCode?: unknown };
}

/**
 * Returns an error with the SQLSTATE of PostgreSQL as its code. Prisma has codes of its own. The error of a statement has
 * that of the adapter within, and COMMIT fails with that of the adapter.
 */
export function withSqlState(error: unknown): unknown {
  const { message, meta, cause } = (error ?? {}) as Error &
    AdapterError & { readonly meta?: { readonly driverAdapterError?: AdapterError } };
  const code = (meta?.driverAdapterError?.cause ?? cause)?.originalCode;
  return code === undefined ? error : Object.assign(new Error(message, { cause: error }), { code });
}
