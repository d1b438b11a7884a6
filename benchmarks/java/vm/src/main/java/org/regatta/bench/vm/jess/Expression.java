package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An expression that has a value for a match: a string, a long or a boolean. */
interface Expression {
    Object value(Token token);

    /**
     * @param term a string, a long, the name of a variable, or a list: an operator and its operands
     * @param known variables
     */
    static Expression of(Object term, Map<String, Variable> known) {
        if (term instanceof List) {
            List<?> parts = (List<?>) term;
            List<Expression> operands = new ArrayList<>();
            for (Object part : parts.subList(1, parts.size())) {
                operands.add(of(part, known));
            }
            return operation((String) parts.get(0), operands);
        }
        if (term instanceof String && ((String) term).startsWith("?")) {
            Variable variable = known.get(term);
            if (variable == null) {
                throw new IllegalArgumentException("unknown variable " + term);
            }
            return variable::in;
        }
        return token -> term;
    }

    private static Expression operation(String operator, List<Expression> operands) {
        switch (operator) {
            case "+":
                return token -> {
                    long sum = 0;
                    for (Expression operand : operands) {
                        sum += (Long) operand.value(token);
                    }
                    return sum;
                };
            case "*":
                return token -> {
                    long product = 1;
                    for (Expression operand : operands) {
                        product *= (Long) operand.value(token);
                    }
                    return product;
                };
            case "=":
                return token -> operands.get(0).value(token).equals(operands.get(1).value(token));
            case "different":
                // the first one from each of the others
                return token -> {
                    Object first = operands.get(0).value(token);
                    for (int i = 1; i < operands.size(); i++) {
                        if (first.equals(operands.get(i).value(token))) {
                            return false;
                        }
                    }
                    return true;
                };
            default:
                throw new IllegalArgumentException("unknown operator " + operator);
        }
    }
}
