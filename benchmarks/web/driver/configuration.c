/*
 * Write the server configurations. Settings that Debian decides (logging, file mapping, sendfile,
 * file locks) keep its defaults. Events that would occur now and then in the window (new processes,
 * limits, timeouts) are fixed.
 */
#include "origin.h"

#include <stdarg.h>
#include <stdlib.h>

enum { CONFIGURATION_BYTES = 8192, SPARE_PROCESSES = 4 };
/* More than users, so that a burst of connections waits instead of being refused; the kernel caps
 * it (net.core.somaxconn). */
enum { LISTEN_QUEUE = 16384 };
enum { FIRST_KEYS_KIB = 1024, KEPT_OPEN = 1024 };

struct text {
    char bytes[CONFIGURATION_BYTES];
    size_t used;
};

bool web_proxied(const struct web_options *options) {
    return options->cache_bytes > 0;
}

const char *web_server_program(const struct web_options *options) {
    return web_is(options->server, "nginx")     ? options->nginx
           : web_is(options->server, "varnish") ? options->varnish
                                                : options->apache;
}

unsigned web_server_processes(const struct web_options *options) {
    return options->servers != 0               ? (unsigned)options->servers
           : web_is(options->server, "apache") ? (unsigned)options->connections + SPARE_PROCESSES
                                               : 1;
}

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->bytes + text->used, sizeof text->bytes - text->used, format, arguments);
    va_end(arguments);
    text->used += length > 0 ? (size_t)length : 0;
    if (text->used >= sizeof text->bytes) {
        text->used = sizeof text->bytes - 1; /* reported by finish() */
    }
}

static int finish(const struct web_server *server, const struct text *text, const char *name) {
    return text->used == sizeof text->bytes - 1
               ? web_fail("%s: expected shorter paths", name)
               : web_folder_write(server->folder, name, text->bytes, 0644);
}

static void add_apache_dynamic(struct text *text, const struct web_server *server) {
    const char *folder = server->folder->path, *modules = server->options->apache_modules;
    unsigned processes = web_server_processes(server->options);
    if (web_is(server->options->dynamic, "cgi")) {
        add(text,
            "LoadModule cgi_module %s/mod_cgi.so\n"
            "ScriptAlias /cgi-bin/ %s/programs/\n"
            "<Directory %s/programs>\n Options ExecCGI FollowSymLinks\n Require all granted\n"
            "</Directory>\n",
            modules, folder, folder);
    } else if (web_is(server->options->dynamic, "fastcgi")) {
        add(text,
            "LoadModule fcgid_module %s/mod_fcgid.so\n"
            "Alias /fcgi-bin/ %s/programs/\n"
            "<Directory %s/programs>\n Options ExecCGI FollowSymLinks\n"
            " SetHandler fcgid-script\n Require all granted\n</Directory>\n"
            "FcgidIPCDir %s/fcgid\nFcgidProcessTableFile %s/fcgid/table\n",
            modules, folder, folder, folder, folder);
        add(text,
            "FcgidMaxProcesses %u\nFcgidMaxProcessesPerClass %u\nFcgidMinProcessesPerClass %u\n"
            "FcgidSpawnScoreUpLimit 10000\nFcgidIdleTimeout 36000\nFcgidProcessLifeTime 0\n"
            "FcgidMaxRequestsPerProcess 0\nFcgidBusyTimeout 3600\n",
            processes, processes, processes);
    }
}

/* Sizes are those of the whole response; the other format has sizes of bodies. */
static const char APACHE_LOG[] = "%h %l %u %t \\\"%r\\\" %>s %O";
/* The combined format, and the duration of the request in microseconds. */
static const char APACHE_TIMED_LOG[] = "%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" "
                                       "\\\"%{User-Agent}i\\\" %D %{usec}t";

static int configure_apache(struct web_server *server) {
    const char *folder = server->folder->path, *modules = server->options->apache_modules;
    unsigned processes = web_server_processes(server->options);
    const bool sessions = server->options->sessions != NULL;
    char acceptance[WEB_PATH_BYTES];
    struct text *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return web_fail("configuration: out of memory");
    }
    add(text,
        "ServerRoot %s\nServerName 127.0.0.1\nListen %s:%u\nPidFile %s/logs/apache2.pid\n"
        "DefaultRuntimeDir %s/logs\nMutex file:%s/logs default\n"
        "ErrorLog %s/logs/error.log\nLogLevel warn\n"
        "ServerTokens Prod\nServerSignature Off\nHostnameLookups Off\nTimeout 300\n"
        "KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout %d\n",
        folder, server->options->host_text, (unsigned)server->port, folder, folder, folder, folder,
        WEB_KEEP_ALIVE_S);
    add(text,
        "LoadModule mpm_prefork_module %s/mod_mpm_prefork.so\n"
        "LoadModule authz_core_module %s/mod_authz_core.so\n"
        "LoadModule alias_module %s/mod_alias.so\nLoadModule mime_module %s/mod_mime.so\n"
        "TypesConfig %s/mime.types\n",
        modules, modules, modules, modules, folder);
    /* Start the maximum number of processes at once and keep them. Connections beyond it wait in
     * the listen queue, whose default length (511) is more than WEB_MOST_CONNECTIONS. */
    add(text,
        "StartServers %u\nServerLimit %u\nMaxRequestWorkers %u\nMinSpareServers 1\n"
        "MaxSpareServers %u\nMaxConnectionsPerChild 0\n",
        processes, processes, processes, processes);
    add(text,
        "LogFormat \"%s\" requests\nCustomLog %s/logs/access.log requests\n"
        "<Directory />\n Options FollowSymLinks\n AllowOverride None\n Require all denied\n"
        "</Directory>\n"
        "DocumentRoot %s/site\n<Directory %s/site>\n Require all granted\n</Directory>\n",
        sessions ? APACHE_TIMED_LOG : APACHE_LOG, folder, folder, folder);
    if (sessions) {
        add(text, "ErrorDocument 404 %s\nListenBacklog %d\n", WEB_OBJECTS_MISSING, LISTEN_QUEUE);
    }
    add_apache_dynamic(text, server);
    web_acceptance_directives(server, acceptance, sizeof acceptance);
    add(text, "%s", acceptance);
    int status = finish(server, text, "apache2.conf");
    free(text);
    return status != 0 ? -1
                       : web_folder_write(server->folder, "mime.types", "text/html html\n", 0644);
}

/* The combined format, and the duration of the request in seconds, with milliseconds. */
static const char NGINX_TIMED_LOG[] =
    " log_format timed '$remote_addr - $remote_user [$time_local] \"$request\" $status "
    "$body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_time $msec%s';\n";
/* Of a proxy: whether the cache had the answer, and the time until the origin's begins. */
static const char NGINX_PROXY_LOG[] = " $upstream_cache_status $upstream_header_time";

/* Connections to the origin stay open, as the documentation of nginx advises. A key takes up to
 * 256 bytes of shared memory. */
static void add_nginx_proxy(struct text *text, const struct web_server *server) {
    const struct web_origin *origin = server->origin;
    add(text,
        " proxy_cache_path %s/cache levels=1:2 keys_zone=objects:%uk max_size=%llu inactive=1d "
        "use_temp_path=off;\n"
        " upstream origin { server 127.0.0.1:%u max_fails=0; keepalive %d; }\n",
        server->folder->path, FIRST_KEYS_KIB + origin->sessions->objects / 4,
        (unsigned long long)server->options->cache_bytes, (unsigned)origin->port, KEPT_OPEN);
}

static const char NGINX_PASS[] =
    "  location / {\n   proxy_pass http://origin;\n   proxy_http_version 1.1;\n"
    "   proxy_set_header Connection \"\";\n   proxy_read_timeout 1h;\n"
    "   proxy_cache objects;\n  }\n";

static int configure_nginx(struct web_server *server) {
    const char *folder = server->folder->path;
    const char *acceptance = server->options->acceptance;
    struct text *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return web_fail("configuration: out of memory");
    }
    const bool sessions = server->options->sessions != NULL;
    add(text,
        "daemon off;\nworker_processes %u;\npid %s/logs/nginx.pid;\n"
        "error_log %s/logs/error.log;\nevents { worker_connections %llu;%s }\n",
        web_server_processes(server->options), folder, folder,
        sessions ? (unsigned long long)web_descriptors() : 1024,
        web_is(acceptance, "accept_mutex") ? " accept_mutex on;" : "");
    add(text, "http {\n sendfile on;\n tcp_nopush on;\n types { text/html html; }\n"
              " default_type application/octet-stream;\n");
    if (sessions) {
        add(text, NGINX_TIMED_LOG, server->origin != NULL ? NGINX_PROXY_LOG : "");
    }
    add(text, " access_log %s/logs/access.log%s;\n keepalive_requests %s;\n", folder,
        sessions ? " timed" : "", sessions ? "1000000000" : "100000");
    if (sessions) {
        add(text, " keepalive_timeout %ds;\n", WEB_KEEP_ALIVE_S);
    }
    if (server->origin != NULL) {
        add_nginx_proxy(text, server);
    } else if (sessions) {
        add(text, " error_page 404 %s;\n", WEB_OBJECTS_MISSING);
    }
    static const char *const kinds[] = {"client_body", "proxy", "fastcgi", "scgi", "uwsgi"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        add(text, " %s_temp_path %s/logs/%s;\n", kinds[i], folder, kinds[i]);
    }
    add(text, " server {\n  listen %s:%u%s", server->options->host_text, (unsigned)server->port,
        web_is(acceptance, "reuseport") ? " reuseport" : "");
    if (sessions) {
        add(text, " backlog=%d", LISTEN_QUEUE);
    }
    add(text, ";\n  root %s/site;\n%s }\n}\n", folder, server->origin != NULL ? NGINX_PASS : "");
    int status = finish(server, text, "nginx.conf");
    free(text);
    return status;
}

/* The built-in VCL decides what is cached. Varnish compiles it with the C compiler. */
static int configure_varnish(struct web_server *server) {
    struct text *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return web_fail("configuration: out of memory");
    }
    add(text,
        "vcl 4.1;\nbackend default {\n .host = \"127.0.0.1\";\n .port = \"%u\";\n"
        " .first_byte_timeout = 1h;\n .between_bytes_timeout = 1h;\n}\n",
        (unsigned)server->origin->port);
    int status = finish(server, text, "default.vcl");
    free(text);
    return status;
}

static void choose_varnish_words(struct web_server *server) {
    static char in_front[] = "-F", folder[] = "-n", listen[] = "-a", with_file[] = "-f",
                storage[] = "-s", console[] = "-T", none[] = "none", parameter[] = "-p",
                idle[] = "timeout_idle=5";
    (void)snprintf(server->root, sizeof server->root, "%s/varnish", server->folder->path);
    (void)snprintf(server->configuration, sizeof server->configuration, "%s/default.vcl",
                   server->folder->path);
    (void)snprintf(server->address, sizeof server->address, "%s:%u", server->options->host_text,
                   (unsigned)server->port);
    (void)snprintf(server->storage, sizeof server->storage, "malloc,%llub",
                   (unsigned long long)server->options->cache_bytes);
    char *const words[] = {server->program,
                           in_front,
                           folder,
                           server->root,
                           listen,
                           server->address,
                           with_file,
                           server->configuration,
                           storage,
                           server->storage,
                           console,
                           none,
                           parameter,
                           idle,
                           NULL};
    (void)memcpy(server->argv, words, sizeof words);
}

static void choose_words(struct web_server *server, bool nginx) {
    static char in_front[] = "-DFOREGROUND", root[] = "-d", with_file[] = "-f", prefix[] = "-p",
                with_configuration[] = "-c";
    (void)snprintf(server->root, sizeof server->root, "%s/", server->folder->path);
    (void)snprintf(server->configuration, sizeof server->configuration, "%s/%s",
                   server->folder->path, nginx ? "nginx.conf" : "apache2.conf");
    char *const apache_words[] = {server->program,       in_front, root, server->root, with_file,
                                  server->configuration, NULL};
    char *const nginx_words[] = {server->program,       prefix, server->root, with_configuration,
                                 server->configuration, NULL};
    (void)memcpy(server->argv, nginx ? nginx_words : apache_words,
                 nginx ? sizeof nginx_words : sizeof apache_words);
}

int web_server_configure(struct web_server *server) {
    bool nginx = web_is(server->options->server, "nginx");
    bool varnish = web_is(server->options->server, "varnish");
    if (web_server_choose_port(server) != 0 ||
        web_folder_shared(server->folder, "logs", &server->identity) != 0 ||
        (server->origin != NULL && web_folder_shared(server->folder, varnish ? "varnish" : "cache",
                                                     &server->identity) != 0)) {
        return -1;
    }
    (void)snprintf(server->program, sizeof server->program, "%s",
                   web_server_program(server->options));
    if (varnish) {
        choose_varnish_words(server);
        return configure_varnish(server);
    }
    choose_words(server, nginx);
    if (web_is(server->options->dynamic, "cgi") &&
        web_folder_copy(server->folder, "programs/page", server->options->cgi_program) != 0) {
        return -1;
    }
    if (web_is(server->options->dynamic, "fastcgi") &&
        (web_folder_shared(server->folder, "fcgid", &server->identity) != 0 ||
         web_folder_copy(server->folder, "programs/page", server->options->fastcgi_program) != 0)) {
        return -1;
    }
    return nginx ? configure_nginx(server) : configure_apache(server);
}
