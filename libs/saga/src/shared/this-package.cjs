'use strict';
// CommonJS, for what an ES module says by `import.meta`: see admin/from-this-folder.cjs.

/** The folder of this file. */
exports.FOLDER = __dirname;

exports.VERSION = require('../../package.json').version;
