import { describeRandomGraphs } from '../../graphs/describe-random-graphs.js';
import { TestApps } from '../../support/test-app.js';

/** Transactional steps that are held have a connection each. */
const POOL = 80;

const apps = TestApps.onOwnDatabase();

describeRandomGraphs((sagas, options) => apps.start({ sagas, options, dataSource: { poolSize: POOL } }));
