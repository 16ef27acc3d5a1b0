import type { Fault } from '../stage.js';
import { block } from './block.js';
import { deadlocks } from './deadlocks.js';
import { daemonKill } from './daemon-kill.js';
import { deaf } from './deaf.js';
import { deploy } from './deploy.js';
import { diskFull } from './disk-full.js';
import { exhaust } from './exhaust.js';
import { failoverAsync, failoverFlapping, failoverSync, splitBrain } from './failover.js';
import { kill } from './kill.js';
import { cut, delay, forgotten, halfOpen, lostAnswers, throttle } from './network.js';
import { restartFast, restartImmediate } from './restart.js';
import { shardDown } from './shard-down.js';
import { stop } from './stop.js';
import { terminate } from './terminate.js';
import { timeouts } from './timeouts.js';
import { wrongClock } from './wrong-clock.js';

/** In the order of the table. */
export const FAULTS: readonly Fault[] = [
  ...[kill, daemonKill, stop, block, deploy, wrongClock],
  ...[restartImmediate, restartFast, terminate, timeouts, deadlocks, exhaust, diskFull],
  ...[failoverSync, failoverAsync, failoverFlapping, splitBrain, shardDown],
  ...[cut, halfOpen, forgotten, delay, throttle, lostAnswers, deaf],
];
