'use strict';
// CommonJS, for what an ES module says by `import.meta`: see admin/from-this-folder.cjs.

/** The folder of this file. */
exports.FOLDER = __dirname;

/** Only for the built package: the library's sources are compiled into other folders as well. */
exports.readVersion = () => require('../../package.json').version;

/** The folders in which Node looks for what this package imports, the nearest first; none in a bundle of everything. */
exports.PACKAGE_FOLDERS = module.paths ?? [];
