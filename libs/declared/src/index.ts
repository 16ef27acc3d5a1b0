export { declareSaga, readSagas, type ReadSagasOptions } from './read-sagas.js';
export { DeclaredSagaError, type DeclaredSagaProblem, type Place } from './declared-saga.error.js';
export type { NetworkOptions } from './network/network.js';
export type { FindMethod, ProviderMethod } from './action/provider-call.js';
export { StepCallError } from './action/call.js';
