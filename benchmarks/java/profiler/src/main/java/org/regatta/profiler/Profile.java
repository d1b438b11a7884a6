package org.regatta.profiler;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.regatta.bench.Json;

/**
 * The profile of an application: a JSON object with
 *
 * <ul>
 *   <li>{@code profile}: 1, the version of this format
 *   <li>{@code java}: name and version of the JVM
 *   <li>{@code windows}: names of the parts of the run in order; the last ends with the JVM
 *   <li>{@code methods}: for each system method its name and descriptor, its calls in each window, and, if an
 *       argument drives its cost, the unit of the argument and its sum in each window
 *   <li>{@code threads}: calls by thread name
 *   <li>{@code not_profiled}: application classes whose calls are not counted, with the reason
 * </ul>
 */
final class Profile {
    private static final int VERSION = 1;

    private Profile() {}

    /** Write the file atomically. */
    static void write(Path path) throws IOException {
        List<Counts.Window> windows = new ArrayList<>(Counts.windows());
        windows.add(Counts.untilNow("rest"));
        Map<String, Object> profile = new LinkedHashMap<>();
        profile.put("profile", VERSION);
        profile.put("java", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        List<String> names = new ArrayList<>();
        windows.forEach(window -> names.add(window.name));
        profile.put("windows", names);
        profile.put("methods", methods(windows));
        profile.put("threads", Counts.threads());
        profile.put("not_profiled", Counts.notProfiled());
        Path unfinished = path.resolveSibling(path.getFileName() + ".unfinished");
        Files.write(unfinished, (Json.of(profile) + "\n").getBytes(StandardCharsets.UTF_8));
        Files.move(unfinished, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    private static List<Map<String, Object>> methods(List<Counts.Window> windows) {
        List<Map<String, Object>> found = new ArrayList<>();
        int count = windows.get(windows.size() - 1).calls.length;
        for (int id = 0; id < count; id++) {
            if (windows.get(windows.size() - 1).calls[id] == 0) {
                continue;
            }
            Counts.Method method = Counts.method(id);
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("method", method.name);
            int number = id;
            line.put("calls", steps(windows, window -> number < window.calls.length ? window.calls[number] : 0));
            if (method.argument != null) {
                line.put("unit", method.argument.unit);
                line.put("amount", steps(windows, window -> number < window.amounts.length ? window.amounts[number] : 0));
            }
            found.add(line);
        }
        return found;
    }

    /** The increment of each window. */
    private static List<Long> steps(List<Counts.Window> windows, ToLongFunction<Counts.Window> sum) {
        List<Long> steps = new ArrayList<>();
        long before = 0;
        for (Counts.Window window : windows) {
            long now = sum.applyAsLong(window);
            steps.add(now - before);
            before = now;
        }
        return steps;
    }
}
