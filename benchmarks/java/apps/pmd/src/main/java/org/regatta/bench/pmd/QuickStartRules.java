package org.regatta.bench.pmd;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.sourceforge.pmd.lang.rule.Rule;
import net.sourceforge.pmd.lang.rule.RuleSet;
import net.sourceforge.pmd.lang.rule.RuleSetLoader;

/**
 * The rules in PMD's quick-start rule set, as defined by their categories.
 *
 * <p>Loading the rule set itself parses the whole file of a category again for every rule: two seconds in a cold JVM, a
 * minute in an interpreter, only for a few changed properties.
 */
final class QuickStartRules {
    private static final String RULE_SET = "rulesets/java/quickstart.xml";
    private static final Pattern COMMENT = Pattern.compile("<!--.*?-->", Pattern.DOTALL);
    private static final Pattern REFERENCE = Pattern.compile("ref=\"(category/java/\\w+\\.xml)/(\\w+)\"");

    private QuickStartRules() {}

    static RuleSet load() throws IOException {
        RuleSetLoader loader = new RuleSetLoader();
        List<Rule> rules = new ArrayList<>();
        for (Map.Entry<String, Set<String>> named : namesByCategory().entrySet()) {
            for (Rule rule : loader.loadFromResource(named.getKey()).getRules()) {
                if (named.getValue().remove(rule.getName())) {
                    rules.add(rule);
                }
            }
            if (!named.getValue().isEmpty()) {
                throw new IllegalStateException("PMD's " + named.getKey() + " lacks " + named.getValue());
            }
        }
        Collection<Pattern> noPattern = List.of();
        return RuleSet.create("quickstart", "Rules of quickstart", RULE_SET, noPattern, noPattern, rules);
    }

    private static Map<String, Set<String>> namesByCategory() throws IOException {
        Map<String, Set<String>> names = new TreeMap<>();
        try (InputStream in = Rule.class.getClassLoader().getResourceAsStream(RULE_SET)) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            Matcher reference = REFERENCE.matcher(COMMENT.matcher(text).replaceAll(""));
            while (reference.find()) {
                names.computeIfAbsent(reference.group(1), category -> new TreeSet<>()).add(reference.group(2));
            }
        }
        return names;
    }
}
