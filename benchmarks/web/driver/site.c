/* The files of the server and the requests for them: SPECweb99's, or those of sessions. */
#include "sessions.h"

int web_site_make(struct web_site *site, const struct web_options *options) {
    if (options->sessions == NULL) {
        return web_files_make(&site->files);
    }
    return web_descriptors_raise(options) != 0 ||
                   web_sessions_read(&site->sessions, options->sessions) != 0 ||
                   (options->serve == NULL &&
                    web_plan_make(&site->plan, &site->sessions, options) != 0)
               ? -1
               : web_objects_make(&site->objects, &site->sessions);
}

int web_site_write(const struct web_site *site, const struct web_options *options,
                   const struct web_folder *folder) {
    char root[WEB_PATH_BYTES];
    if (web_proxied(options)) {
        return 0; /* the origin has them in memory */
    }
    (void)snprintf(root, sizeof root, "%s/site", folder->path);
    return options->sessions == NULL ? web_files_write(&site->files, root)
                                     : web_objects_write(&site->objects, folder);
}

void web_site_free(struct web_site *site) {
    web_files_free(&site->files);
    web_objects_free(&site->objects);
    web_plan_free(&site->plan);
    web_sessions_free(&site->sessions);
}
