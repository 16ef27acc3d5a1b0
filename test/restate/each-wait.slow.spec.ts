import { describeWaits } from '../sagas/waits/each-wait.contract.js';
import { restateProgram } from '../support/restate-server.js';
import { restateSubject } from './restate-subject.js';

const program = restateProgram();

if (program) describeWaits('on Restate', () => restateSubject(program), { isDatabase: false });
else test.skip('There is no Restate server for this platform on npm', () => undefined);
