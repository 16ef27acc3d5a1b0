/**
 * For the other packages of this library in the same version. Not for applications: names here change without notice.
 */
export { redactedHistory, redactedSnapshot } from './redact-saga.js';
