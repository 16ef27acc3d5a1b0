import { describeWaits } from '../sagas/each-wait/each-wait.contract.js';
import { restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { restateSubject } from './restate-subject.js';

const program = restateProgram();

if (program)
  describeWaits('on Restate', () => restateSubject(program, { isExact: false }), { isDatabase: false });
else test.skip('each kind of wait on Restate: there is no server for this machine', () => {});
