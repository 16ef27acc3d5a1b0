/**
 * The HTTP status of each code that a caller can act on. `refused`: the state refuses the call, so that a command ends with
 * exit code 1. Any other code is a fault: 500, and exit code 2.
 */
export const ERROR_ANSWERS: Readonly<Record<string, { readonly status: number; readonly refused?: true }>> = {
  // The call is recorded, and another operator has to make it as well.
  SAGA_APPROVAL_PENDING: { status: 202, refused: true },
  SAGA_VALIDATION: { status: 400 },
  SAGA_PAYLOAD: { status: 400 },
  SAGA_NOT_FOUND: { status: 404, refused: true },
  SAGA_CONFLICT: { status: 409, refused: true },
  SAGA_STATE: { status: 409, refused: true },
  // This process does not have the saga in this version, or cannot decode what it carries: another one may.
  SAGA_DEFINITION: { status: 409 },
  SAGA_CODEC: { status: 409 },
  SAGA_UNAVAILABLE: { status: 503 },
  SAGA_SHARD_UNAVAILABLE: { status: 503 },
  SAGA_TIMEOUT: { status: 504 },
};
