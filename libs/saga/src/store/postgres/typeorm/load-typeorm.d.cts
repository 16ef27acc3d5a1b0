/** Loads the package typeorm, which only its users install. Throws what `require` throws. */
export declare function loadTypeOrm(): typeof import('typeorm', { with: { 'resolution-mode': 'require' } });
