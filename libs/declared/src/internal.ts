/**
 * For the other packages of this library in the same version. Not for applications: names here change without notice.
 */
export { Credentials } from './daemon/access/credentials.js';
export { DaemonLog } from './daemon/daemon-log.js';
export { Daemon, type DaemonOptions } from './daemon/daemon.js';
export { textOfProblem } from './declared-saga.error.js';
